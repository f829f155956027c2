// The variables of the tiler in a container: where it reaches the service, and what the operator has set.

/** Address of the gate: in 198.18.0.0/15, which is for benchmarks of networks, and refused for sources (`content/src/address/`). */
export const ADDRESS = "198.18.0.1";
/** The bucket's name in the store's API. */
export const BUCKET = "pyramids";
/** Lists of networks and hosts, which are the same for Worker and tilers. */
const LISTS = ["ALLOW_NETWORKS", "DENY_NETWORKS", "ALLOW_HOSTS", "DENY_HOSTS"];
/**
 * What the tiler checks before it serves: it is no root, and web pages have namespaces. Without them it ends, and its
 * log says what is missing. The operator can allow less.
 */
const CHECKS = "user,pages";
/** The operator's value that allows everything. */
const UNCHECKED = "off";

/** Returns the tiler's variables. Those of the Worker that begin with EDGEZOOM_ are for the tiler. */
export function variables(env, token) {
  const given = Object.entries(env).filter(([name, value]) => name.startsWith("EDGEZOOM_") && value && typeof value === "string");
  const lists = LISTS.filter((name) => env[name]).map((name) => [`EDGEZOOM_${name}`, env[name]]);
  const base = `http://${ADDRESS}`;
  const { EDGEZOOM_DOCTOR, ...others } = Object.fromEntries([["EDGEZOOM_DOCTOR", CHECKS], ...lists, ...given]);
  return {
    EDGEZOOM_DRAIN_SECONDS: "780", // the platform waits fifteen minutes
    EDGEZOOM_EXIT_WHEN_IDLE: "60",
    EDGEZOOM_POLL_MS: "200", // the queue is our own
    EDGEZOOM_API_CALLS: "0",
    ...others,
    ...(EDGEZOOM_DOCTOR !== UNCHECKED && { EDGEZOOM_DOCTOR }),
    EDGEZOOM_EDGE_URL: base,
    EDGEZOOM_TILER_TOKEN: token,
    EDGEZOOM_QUEUE_URL: `${base}/queue`,
    EDGEZOOM_QUEUE_TOKEN: token,
    EDGEZOOM_S3_ENDPOINT: base,
    EDGEZOOM_S3_BUCKET: BUCKET,
    EDGEZOOM_S3_ACCESS_KEY_ID: token,
    EDGEZOOM_S3_SECRET_ACCESS_KEY: token,
  };
}
