// The fields of each request, checked against the types of Cloudflare's client: `tsc` reports missing and unknown ones.
// The fake rejects all others.

/**
 * A check for every field of a type except those in the path or in a header. @template T @typedef {Required<{ [K in
 * Exclude<keyof T, "account_id" | "queue_id" | "bucket_name" | "cf-r2-jurisdiction">]: Check }>} Fields
 */
/** @typedef {(value: any) => boolean} Check */
/** @template T @typedef {NonNullable<T>} Set */

const text = (/** @type {any} */ value) => typeof value === "string" && value !== "";
const truth = (/** @type {any} */ value) => typeof value === "boolean";
const number = (/** @type {number} */ from, /** @type {number} */ to) => (/** @type {any} */ value) =>
  Number.isInteger(value) && value >= from && value <= to;
const oneOf =
  (/** @type {string[]} */ ...values) =>
  (/** @type {any} */ value) =>
    values.includes(value);
const listOf = (/** @type {Check} */ check) => (/** @type {any} */ value) => Array.isArray(value) && value.every(check);
const never = () => false;

/** Returns a check that a value has these fields and no others; `optional` ones may be missing. */
const fields =
  (/** @type {Record<string, Check>} */ checks, /** @type {string[]} */ optional = []) =>
  (/** @type {any} */ value) =>
    typeof value === "object" &&
    value !== null &&
    Object.keys(value).every((key) => key in checks) &&
    Object.entries(checks).every(([key, check]) =>
      value[key] === undefined ? optional.includes(key) : check(value[key]),
    );

/** @typedef {import("cloudflare/resources/r2/buckets/lifecycle").LifecycleUpdateParams.Rule} LifecycleRule */
/**
 * @typedef {import("cloudflare/resources/queues/consumers").ConsumerCreateParams.MqHTTPConsumerRequest} PullConsumer
 */

/** @satisfies {Fields<Set<Set<LifecycleRule["abortMultipartUploadsTransition"]>["condition"]>>} */
const age = { type: oneOf("Age"), maxAge: number(1, 315_360_000) };
/** @satisfies {Fields<LifecycleRule>} */
const lifecycleRule = {
  id: text,
  enabled: truth,
  conditions: fields({ prefix: (value) => typeof value === "string" }),
  abortMultipartUploadsTransition: fields({ condition: fields(age) }),
  deleteObjectsTransition: fields({ condition: fields(age) }),
  storageClassTransitions: never,
};

/** @satisfies {Fields<Set<PullConsumer["settings"]>>} */
const pulling = {
  batch_size: number(1, 100),
  max_retries: number(0, 100),
  retry_delay: number(0, 43_200),
  visibility_timeout_ms: number(1, 43_200_000),
};
/** @satisfies {Fields<PullConsumer>} */
const consumer = { type: oneOf("http_pull"), dead_letter_queue: text, settings: fields(pulling) };

/** @satisfies {Fields<import("cloudflare/resources/kv/namespaces").NamespaceCreateParams>} */
const namespace = { title: text, jurisdiction: never };
/** @satisfies {Fields<import("cloudflare/resources/r2/buckets/buckets").BucketCreateParams>} */
const bucket = {
  name: (value) => /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/.test(value),
  locationHint: oneOf("apac", "eeur", "enam", "weur", "wnam", "oc"),
  storageClass: oneOf("Standard", "InfrequentAccess"),
};
/** @satisfies {Fields<import("cloudflare/resources/queues/queues").QueueCreateParams>} */
const queue = { queue_name: (value) => /^[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$/.test(value), jurisdiction: never };
/** @satisfies {Fields<import("cloudflare/resources/shared").TokenPolicyParam>} */
const policy = {
  effect: oneOf("allow"),
  permission_groups: listOf(fields({ id: text, meta: never }, ["meta"])),
  resources: (value) => Object.values(value).length > 0 && Object.values(value).every((access) => access === "*"),
};
/** @satisfies {Fields<import("cloudflare/resources/accounts/tokens/tokens").TokenCreateParams>} */
const token = { name: text, policies: listOf(fields(policy)), condition: never, expires_on: never, not_before: never };
/** @satisfies {Fields<import("cloudflare/resources/r2/buckets/lifecycle").LifecycleUpdateParams>} */
const lifecycle = {
  rules: listOf(
    fields(lifecycleRule, ["abortMultipartUploadsTransition", "deleteObjectsTransition", "storageClassTransitions"]),
  ),
};

/** The check of each request's body. @type {Record<string, Check>} */
export const BODIES = {
  "POST kv/namespaces": fields(namespace, ["jurisdiction"]),
  "POST r2/buckets": fields(bucket, ["locationHint", "storageClass"]),
  "PUT lifecycle": fields(lifecycle),
  "POST queues": fields(queue, ["jurisdiction"]),
  "POST consumers": fields(consumer, ["dead_letter_queue", "settings"]),
  "PUT consumers": fields(consumer, ["dead_letter_queue", "settings"]),
  "POST tokens": fields(token, ["condition", "expires_on", "not_before"]),
  "PUT value": fields({}),
};
