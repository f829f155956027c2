// Errors of the platform, as calls of Durable Objects throw them.

/** The errors of the platform after a reset. */
export const RESETS = [
  { message: "Network connection lost.", retryable: true },
  { message: "internal error; reference = 0", durableObjectReset: true, remote: true },
  { message: "Durable Object reset because its code was updated.", remote: true },
];
