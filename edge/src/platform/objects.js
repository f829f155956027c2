// Repeats calls of Durable Objects. The platform resets an object when the Worker is deployed, when it moves, and after
// failures of the object's storage; then calls under way fail, and the next one would succeed. The runtime itself repeats
// only calls that have not reached the object.

/** The platform's message where it sets no property. */
const UPDATED = /reset because its code was updated/;

/**
 * Returns true if a call failed because its object was reset or could not be reached, and not because of what was asked:
 * https://developers.cloudflare.com/durable-objects/best-practices/error-handling/. More calls would harm an overloaded object.
 */
export const wasReset = (error) => !error?.overloaded && Boolean(error?.durableObjectReset || error?.retryable || UPDATED.test(error?.message));

/**
 * Makes a call, and makes it once more if its object was reset. `call` has to make the stub, too: the platform says that
 * that of a failed call may be broken. The call must have the same result if it is made twice.
 */
export async function repeated(call) {
  try {
    return await call();
  } catch (error) {
    if (wasReset(error)) return call();
    throw error;
  }
}
