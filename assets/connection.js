// Keeps the page alive when its server or its network goes away. Gradio's client notices a lost
// connection at the next press, is dead from then on, and reloads with whatever somebody wrote gone.
// Here the page notices at once, because its heartbeat ends. It asks until a server answers. To the
// same server it goes back as it is, unless something was lost on the way. From another one, whose
// events have other numbers, it loads itself anew. What was written comes back after the load.
// Loaded before stream.js, so that Gradio's client never learns what is mended here.
(() => {
  const send = window.fetch.bind(window);
  const TRY = 2000; // milliseconds between two questions for the server
  const ANSWER = 10_000; // that one of them may take
  const BEAT = 15_000; // between two looks whether the heartbeat came
  const SILENT = 60_000; // without a heartbeat, which comes every 15 seconds
  const REFUSALS = 20; // of a press while the server has no room for a connection: a minute
  const ASLEEP = 30 * 60_000; // after which the server may have forgotten the page
  const APART = 10_000; // between two reloads, lest a broken proxy has the page reload for ever
  const STORED_AS = "coupled-arena-kept";
  const LOST = say("The connection to the server is lost. The page connects again by itself.");
  const CROWDED = say("The server has too many visitors just now. The page tries again by itself.");
  const AGAIN = say("The server was started again. The page was loaded again, with your text.");
  const ASK = say("The server was started again and stopped your round. Its question is in the box: ask it once more.");
  const BACK = say("The connection is back. The page was loaded again, with your text.");
  const INSIDE = say("You are signed in again. The page was loaded again, with your text.");

  const never = new Promise(() => {});
  let trying = false; // the server is away
  let broken = false; // Gradio's client misses an answer: it needs a load
  let leaving = false; // the page is about to load itself
  let beat = Date.now(); // when the server was heard last
  let hush = null; // ends a heartbeat that has ended
  let back = Promise.resolve(); // until the server is there again

  const storage = (act) => {
    try { return act(sessionStorage); } catch (error) {
      if (!["SecurityError", "QuotaExceededError"].includes(error.name)) throw error;
      return null; // a browser may forbid it inside another site's frame
    }
  };
  const kept = JSON.parse(storage((store) => store.getItem(STORED_AS)) ?? "null") ?? {};
  storage((store) => store.removeItem(STORED_AS));
  const left = new Map(Object.entries(kept.fields ?? {})); // what has not found its field yet

  // Fields: by the name of what they stand in, and their place in it.
  const FIELDS = "textarea, input:is([type=text], [type=search], [type=number], [type=radio], "
    + "[type=checkbox]):not([role], [readonly])";
  const OURS = "#round, .history, #header"; // these keep what is in them in ways of their own
  const isChoice = (field) => ["radio", "checkbox"].includes(field.type);
  const stateOf = (field) => (isChoice(field) ? field.checked : field.value);
  const fields = () => {
    const counts = {};
    return [...document.querySelectorAll(FIELDS)].filter((field) => !field.closest(OURS)).flatMap((field) => {
      const place = field.closest("[id]:not([id^=component-], input, textarea)")?.id;
      if (!place) return [];
      counts[place] = (counts[place] ?? -1) + 1;
      return [[`${place} ${counts[place]}`, field]];
    });
  };
  const asLoaded = new Map(); // the state of each field when it was first seen

  const keep = (why) => {
    const now = Object.fromEntries(left);
    let focus = null;
    for (const [name, field] of fields()) {
      if (!left.has(name) && asLoaded.has(name) && asLoaded.get(name) !== stateOf(field)) now[name] = stateOf(field);
      if (field === document.activeElement) focus = name;
    }
    const keep = { why, at: Date.now(), server: own(), fields: now, focus };
    window.dispatchEvent(new CustomEvent("arena:keep", { detail: keep }));
    storage((store) => store.setItem(STORED_AS, JSON.stringify(keep)));
  };

  const write = (name, field) => {
    const value = left.get(name);
    left.delete(name);
    if (stateOf(field) !== asLoaded.get(name) || stateOf(field) === value) return; // somebody was faster
    if (isChoice(field)) { if (field.type === "checkbox" || value) field.click(); return; }
    field.value = value;
    for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
    if (name === kept.focus && document.activeElement === document.body) field.focus({ preventScroll: true });
  };

  // Stored battles come one after the other: whoever was at one goes on.
  const goOn = () => {
    const start = kept.stored && document.querySelector("#start");
    if (!start) return;
    delete kept.stored;
    setTimeout(() => { if (start.offsetParent) start.click(); }, 500); // unless a round is on show
  };

  // Gradio gives a field its value in the frame after it was made.
  const look = () => {
    goOn();
    for (const [name, field] of fields()) {
      if (asLoaded.has(name)) continue;
      asLoaded.set(name, stateOf(field));
      if (left.has(name)) setTimeout(() => { asLoaded.set(name, stateOf(field)); write(name, field); }, 100);
    }
  };
  let looking = false;
  new MutationObserver(() => {
    if (looking) return;
    looking = true;
    setTimeout(() => { looking = false; look(); }, 50);
  }).observe(document, { childList: true, subtree: true });

  // One line above everything, so that no button moves.
  const showNotice = (text, closes = false) => {
    document.querySelector("#connection")?.remove();
    if (!text) return;
    const note = document.createElement("div");
    note.id = "connection";
    note.setAttribute("role", "status");
    note.append(Object.assign(document.createElement("span"), { textContent: text }));
    if (closes) {
      const close = Object.assign(document.createElement("button"), { type: "button", textContent: "×" });
      close.setAttribute("aria-label", say("Close this message"));
      close.onclick = () => note.remove();
      note.append(close);
    }
    document.body.append(note);
  };

  const own = () => String(window.gradio_config?.app_id);
  const address = () => new URL("gradio_api/app_id", document.baseURI);
  const ask = async () => {
    try {
      const answer = await send(address(), { cache: "no-store", signal: AbortSignal.timeout(ANSWER) });
      if (answer.status === 401) return "out"; // the page itself leads to where one signs in
      if (!answer.ok) return "none";
      return String((await answer.json()).app_id) === own() ? "same" : "other";
    } catch {
      return "none";
    }
  };

  const reload = (why) => {
    leaving = true;
    const wait = APART - (Date.now() - (kept.at ?? 0));
    setTimeout(() => { keep(why); window.location.reload(); }, Math.max(0, wait));
  };

  const lose = (needsLoad) => {
    broken ||= needsLoad;
    if (trying) return;
    trying = true;
    back = new Promise((go) => {
      const attempt = async () => {
        const found = await ask();
        if (found === "none") {
          showNotice(LOST);
          window.dispatchEvent(new Event("arena:lost"));
          setTimeout(attempt, TRY);
        } else if (found !== "same") {
          reload(found === "out" ? "out" : "again");
        } else if (broken || Date.now() - beat > ASLEEP) {
          reload("back");
        } else {
          trying = false;
          beat = Date.now();
          showNotice("");
          window.dispatchEvent(new Event("arena:back"));
          go();
        }
      };
      attempt();
    });
  };

  // The heartbeat of a page; to the client it never ends.
  const heartbeat = (request) => new Response(new ReadableStream({
    async start(controller) {
      while (!request.signal.aborted) {
        const ended = new AbortController();
        hush = () => ended.abort();
        try {
          const response = await send(new Request(request.clone(), {
            signal: AbortSignal.any([request.signal, ended.signal]),
          }));
          const reader = response.body.getReader();
          for (;;) {
            const { done, value } = await reader.read();
            if (done || !response.ok) break;
            beat = Date.now();
            controller.enqueue(value);
          }
        } catch { /* the same as its end */ }
        if (request.signal.aborted) break;
        lose(false);
        await back;
        await new Promise((go) => { setTimeout(go, TRY); }); // a proxy may cut it off at once
      }
      controller.close();
    },
  }), { headers: { "content-type": "text/event-stream" } });

  const watch = () => { if (Date.now() - beat > SILENT) { lose(false); hush?.(); } };
  setInterval(watch, BEAT);
  for (const type of ["online", "pageshow", "focus"]) window.addEventListener(type, watch);
  document.addEventListener("visibilitychange", watch);
  window.addEventListener("pagehide", () => { if (trying && !leaving) keep("again"); }); // a reload by hand

  // A body whose break the client does not see.
  const unbroken = (request, response) => {
    const reader = response.body.getReader();
    const pull = async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        if (request.signal.aborted) throw error;
        lose(true);
        await never;
      }
    };
    return new Response(new ReadableStream({ pull, cancel: (why) => reader.cancel(why) }), response);
  };

  // A server that has no room for a connection says when to come again, and has done nothing yet.
  const patiently = async (attempt) => {
    let shown = false;
    for (let left = REFUSALS; ; left -= 1) {
      const response = await attempt();
      const wait = response.status === 503 ? Number(response.headers.get("retry-after")) : 0;
      if (!wait || !left || trying) {
        if (shown && !trying) showNotice("");
        return response;
      }
      shown = true;
      showNotice(CROWDED);
      await new Promise((go) => { setTimeout(go, 1000 * wait); });
    }
  };

  window.fetch = async (input, options) => {
    const path = new URL(input.url ?? input, window.location.href).pathname;
    if (path.includes("/gradio_api/heartbeat/")) return heartbeat(new Request(input, options));
    const joins = path.endsWith("/queue/join") || path.endsWith("/run/predict");
    const hears = path.endsWith("/queue/data");
    if (!joins && !hears) return send(input, options);
    watch(); // the first press after a sleep may come before any timer
    if (trying) await back; // a press of now is carried out once the server is there, if it is the same
    const request = new Request(input, options);
    if (joins) request.headers.set("x-arena-page", own());
    // A text can be sent again as it is; a copy of a request becomes a stream, which others cannot read.
    const attempt = input instanceof Request ? () => send(request.clone()) : () => send(input, { ...options, headers: request.headers });
    try {
      const response = await patiently(attempt);
      // The server does not know this page (any more).
      if (response.status === 409 || response.status === 401 || (hears && !response.ok)) throw new TypeError(path);
      return hears ? unbroken(request, response) : response;
    } catch (error) {
      if (request.signal.aborted) throw error;
      lose(true);
      return never;
    }
  };

  window.arenaKept = kept; // scripts of panels take from it what is theirs
  if (kept.why) {
    const asks = kept.question && kept.why !== "back" && !left.has("question 0");
    if (asks) left.set("question 0", kept.question);
    const begin = () => {
      const same = kept.server === own();
      if (asks && same) left.delete("question 0"); // the round goes on
      showNotice(same ? (kept.why === "out" ? INSIDE : BACK) : kept.question ? ASK : AGAIN, true);
    };
    if (document.body) begin(); else window.addEventListener("DOMContentLoaded", begin);
  }
})();
