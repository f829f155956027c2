/**
 * The longest time that a test waits for what should happen soon. It is long because a busy machine must not fail a test,
 * and only a failure takes it. `EDGEZOOM_PATIENCE` sets it, in seconds.
 */
export const PATIENCE_MS = Number(process.env.EDGEZOOM_PATIENCE ?? 120) * 1000;
