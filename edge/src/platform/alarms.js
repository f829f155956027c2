// Alarms of Durable Objects.

/**
 * Milliseconds after which an alarm that has not rung counts as lost. The platform tries a failed one for about two
 * minutes and then gives it up, and it still tells the object that the alarm is set.
 */
const LOST = 180_000;

/** Sets an object's alarm, unless an earlier one is set. */
export async function ringBy(storage, at) {
  const known = await storage.getAlarm();
  const isLost = known !== null && known < Date.now() - LOST;
  if (isLost) await storage.setAlarm(Date.now());
  else if (known === null || known > at) await storage.setAlarm(at);
}
