// `cargo xtask undeploy`: removes what `deploy` has made for one environment. The Worker goes first, so that nothing
// new begins. The bucket stays unless the operator asks for its end too: pyramids are what was paid for.

import * as bucket from "./resources/bucket.mjs";
import * as namespace from "./resources/namespace.mjs";
import * as queue from "./resources/queue.mjs";
import * as token from "./resources/token.mjs";
import * as worker from "./resources/worker.mjs";
import { resources } from "./wrangler-config.mjs";

/** Removes everything; with `pyramids` the bucket too. */
export async function undeploy({ base, wanted, api, state }, plan, { pyramids = false } = {}) {
  const { namespaces, buckets, queues } = resources(base, wanted);
  await worker.remove(api, plan, wanted.prefix);
  await token.remove(api, plan, token.ofQueue(wanted.prefix, wanted.account).name);
  await token.remove(api, plan, token.ofBucket(wanted.prefix, api, "").name);
  for (const { name } of queues) await queue.remove(api, plan, name);
  for (const { title } of namespaces) await namespace.remove(api, plan, title);
  for (const { name } of buckets) {
    if (pyramids) await bucket.remove(api, plan, name);
    else if (await bucket.find(api, name)) plan.keep(`R2 bucket ${name}; \`--pyramids\` deletes it too`);
  }
  if (!plan.isDry) await state.forget();
}
