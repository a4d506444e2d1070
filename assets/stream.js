// Gradio's client closes its one stream of events when the server has nothing left to send, even if
// it has posted another event by then, whose end would never arrive. Here the stream goes on as
// long as a posted event has not ended. And the client opens a stream for an event whose end came
// before the answer to its posting, which would stay open for nothing: it is closed here. Of an
// event whose posting is answered just then it learns once it knows that its stream has ended: it
// would open no other. And it hangs up at the server's last message, which it is given once nothing
// comes after it: if the server had not been done, it would have forgotten the next event, too.
(() => {
  const send = window.fetch.bind(window);
  const posted = new Set(); // ids of events whose end has not come
  const ended = new Set(); // of events that ended before the answer to their posting came

  // Turns of 100 ms after which the client has another stream, and aborted that one's request. They
  // are counted one by one: while figures are drawn, seconds pass in which it cannot look at all.
  const FORGOTTEN = 30;
  const CLOSED = 'data: {"msg": "close_stream", "event_id": null}\n\n';

  let ending = Promise.resolve(); // until the client aborts its request: it knows of the end

  const end = (request) => {
    ending = new Promise((go) => {
      request.signal.addEventListener("abort", go);
      const turn = (left) => (left ? setTimeout(turn, 100, left - 1) : go());
      turn(request.signal.aborted ? 0 : FORGOTTEN);
    });
  };

  const parsed = (message) => JSON.parse(message.replace(/^data: /, ""));

  const closes = async (message, next) => {
    if (message === null) return false;
    if (message.includes('"process_completed"')) {
      const { msg, event_id } = parsed(message);
      if (msg === "process_completed" && !posted.delete(event_id)) ended.add(event_id);
    }
    if (!message.includes('"close_stream"') || parsed(message).msg !== "close_stream") return false;
    while (await next() !== null); // until the server is done with it, too
    return true;
  };

  // Returns a function that returns the next message of a response, or null at its end.
  const messagesOf = (response) => {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    return async () => {
      while (!text.includes("\n\n")) {
        const { done, value } = await reader.read();
        if (done) return null;
        text += value;
      }
      const end = text.indexOf("\n\n") + 2;
      const message = text.slice(0, end);
      text = text.slice(end);
      return message;
    };
  };

  const continued = (request, response) => {
    let next = messagesOf(response);
    const pull = async (controller) => {
      let message = await next();
      let closing = await closes(message, next);
      while (closing && posted.size) {
        const again = await send(request.clone());
        if (!again.ok) { posted.clear(); break; } // the server knows nothing of them any more
        next = messagesOf(again);
        message = await next();
        closing = await closes(message, next);
      }
      // Of a stream that ends without a word the client would wait for ever, and open no other.
      if (closing || message === null) end(request);
      controller.enqueue(new TextEncoder().encode(message ?? CLOSED));
      if (message === null) controller.close();
    };
    return new Response(new ReadableStream({ pull }), response);
  };

  window.fetch = async (input, options) => {
    const path = new URL(input.url ?? input, window.location.href).pathname;
    if (path.endsWith("/queue/data")) {
      const request = new Request(input, options);
      if (!posted.size) {
        end(request);
        return new Response(CLOSED, { headers: { "content-type": "text/event-stream" } });
      }
      return continued(request, await send(request.clone()));
    }
    const response = await send(input, options);
    if (path.endsWith("/queue/join") && response.ok) {
      const { event_id } = await response.clone().json();
      if (!ended.delete(event_id)) posted.add(event_id);
      await ending;
    }
    return response;
  };
})();
