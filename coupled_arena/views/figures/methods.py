"""What figures call the settings that their numbers depend on."""

from __future__ import annotations

from coupled_arena.core.choices import Copula, Correction, Covariance, Cutoff, PValues, Weighting
from coupled_arena.core.language import N_

WEIGHTINGS = {
    Weighting.STRATIFIED: N_("stratified weighting"),
    Weighting.POSITION: N_("position weighting"),
    Weighting.COUNT: N_("count weighting"),
}
COVARIANCES = {
    Covariance.CORRECTED: N_("corrected covariance"),
    Covariance.PUBLISHED: N_("published covariance"),
}
CUTOFFS = {
    Cutoff.MAX_T: N_("max-t cut-off"),
    Cutoff.STEP_DOWN: N_("step-down cut-off"),
    Cutoff.ANY_TIME: N_("any-time cut-off"),
    Cutoff.BONFERRONI: N_("bonferroni cut-off"),
    Cutoff.CHI2: N_("chi2 cut-off"),
}
CUTOFF_NAMES = {
    Cutoff.MAX_T: N_("max-t"),
    Cutoff.STEP_DOWN: N_("step-down"),
    Cutoff.ANY_TIME: N_("any-time"),
    Cutoff.BONFERRONI: N_("bonferroni"),
    Cutoff.CHI2: N_("chi2"),
}
P_VALUES = {
    PValues.SWAP: N_("swap p-values"),
    PValues.PERCENTILE: N_("percentile p-values"),
    PValues.APPROXIMATE: N_("approximate p-values"),
    PValues.PUBLISHED: N_("published p-values"),
}
CORRECTIONS = {
    Correction.BONFERRONI: N_("bonferroni correction"),
    Correction.HOLM: N_("holm correction"),
    Correction.FDR: N_("fdr correction"),
    Correction.NONE: N_("none correction"),
}
COPULAS = {
    Copula.INDEPENDENT: N_("independent copula"),
    Copula.EMPIRICAL: N_("empirical copula"),
}
