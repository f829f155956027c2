// Deploying and removing against a fake of Cloudflare's API: once, again, and with every call failing once in each way.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { pinned } from "../cloudflare/image.mjs";
import { IMAGE, environments, settings } from "../cloudflare/settings.mjs";
import { addresses } from "../cloudflare/wrangler.mjs";
import { FAILURES } from "./provider.mjs";
import { DIGEST, REPOSITORY, SETTINGS, stage } from "./stage.mjs";

const reading = (call) => call.startsWith("GET ");

/** Returns the contents of an account without ids and secrets, which are random. */
function shape({ account }) {
  const plain = JSON.stringify(account, (_, value) => {
    if (value instanceof Map) return [...value.values()];
    return value instanceof Set ? [...value] : value;
  });
  return JSON.parse(plain, (key, value) =>
    /(^|_)id$|^value$|^TILER_TOKEN$|^ADMIN_TOKENS$|^text$|^workers\/tag$/.test(key) ? key : value,
  );
}

async function on(options, run) {
  const place = await stage(options);
  try {
    return await run(place);
  } finally {
    await place.close();
  }
}

/** Repeats a task until it succeeds, and returns the number of runs. */
async function untilDone(task) {
  for (let runs = 1; ; runs++) {
    try {
      await task();
      return runs;
    } catch (error) {
      assert.ok(runs < 60, `it never succeeds: ${error.stack}`);
    }
  }
}

test("a dry run prints the plan and changes nothing", () =>
  on({}, async ({ deploy, provider, lines, env }) => {
    const { changes } = await deploy({ dryRun: true });
    assert.deepEqual(
      provider.calls().filter((call) => !reading(call)),
      [],
    );
    assert.equal(changes, lines.filter((line) => !line.startsWith("keep")).length);
    assert.ok(lines.includes("create  KV namespace edgezoom-finished"), lines.join("\n"));
    assert.ok(lines.some((line) => line.startsWith("upload  Worker edgezoom, version ")));
    await assert.rejects(env(), { code: "ENOENT" });
  }));

test("deploying creates what the service needs; deploying again changes nothing", () =>
  on({}, async ({ deploy, provider, lines, env, root }) => {
    const { address, base } = await deploy();
    assert.deepEqual([address, base], ["https://zoom.example.com", "https://api.example.com"]);
    const { namespaces, buckets, queues, scripts, tokens, domains } = provider.account;
    const bucket = buckets.get("edgezoom-pyramids");
    assert.equal(bucket.locationHint, "weur");
    assert.equal(bucket.lifecycle[0].abortMultipartUploadsTransition.condition.maxAge, 604_800);
    assert.equal(bucket.lifecycle[1].deleteObjectsTransition.condition.maxAge, 172_800);
    const [queue] = queues.values();
    assert.equal(queue.consumers[0].type, "http_pull");
    const [namespace] = namespaces.values();
    const worker = scripts.get("edgezoom");
    assert.equal(worker.bindings.find(({ name }) => name === "FINISHED").namespace_id, namespace.id);
    assert.deepEqual([...domains.keys()], ["zoom.example.com", "api.example.com", "tiles.example.com"]);

    const text = await env();
    const variables = Object.fromEntries(
      text
        .trim()
        .split("\n")
        .map((line) => line.split(/=(.*)/)),
    );
    const [queueToken, bucketToken] = tokens.values();
    assert.equal(variables.EDGEZOOM_EDGE_URL, address);
    assert.equal(variables.EDGEZOOM_TILER_TOKEN, worker.secrets.TILER_TOKEN);
    assert.equal(variables.EDGEZOOM_ADMIN_TOKEN, undefined, "tilers must not have the operator's token");
    const operator = await readFile(join(root, ".edgezoom/production.admin.env"), "utf8");
    assert.ok(operator.includes(`EDGEZOOM_ADMIN_TOKEN=${worker.secrets.ADMIN_TOKENS}\n`), operator);
    assert.ok(variables.EDGEZOOM_QUEUE_URL.endsWith(`/queues/${queue.queue_id}`));
    assert.equal(variables.EDGEZOOM_QUEUE_TOKEN, queueToken.value);
    assert.equal(variables.EDGEZOOM_S3_ACCESS_KEY_ID, bucketToken.id);
    assert.equal(variables.EDGEZOOM_S3_SECRET_ACCESS_KEY, createHash("sha256").update(bucketToken.value).digest("hex"));
    assert.deepEqual(Object.keys(bucketToken.policies[0].resources), [
      `com.cloudflare.edge.r2.bucket.0123456789abcdef0123456789abcdef_default_edgezoom-pyramids`,
    ]);
    assert.equal((await stat(join(root, ".edgezoom/production.env"))).mode & 0o777, 0o600);

    provider.calls();
    const { changes } = await deploy();
    assert.equal(changes, 0, lines.join("\n"));
    assert.deepEqual(
      provider.calls().filter((call) => !reading(call)),
      [],
    );
    assert.equal(await env(), text);
  }));

for (const [name, how] of Object.entries(FAILURES)) {
  test(`deploying and removing succeed when repeated after each call failed once (${name})`, async () => {
    const expected = await on({}, async ({ deploy, provider }) => (await deploy(), shape(provider)));
    const retries = how === FAILURES.refused ? 4 : 0; // the client pauses half a second when a response names no pause
    await on({ retries }, async ({ deploy, undeploy, provider, env }) => {
      provider.fail(how);
      const runs = await untilDone(deploy);
      assert.ok(retries || runs > 15, `only ${runs} runs`); // every failing call ends a run
      assert.deepEqual(shape(provider), expected);
      const variables = await env();
      for (const { id, value } of provider.account.tokens.values()) {
        assert.ok(variables.includes(value) || variables.includes(id), "a token's value is lost");
      }
      provider.fail(how);
      await untilDone(() => undeploy({ pyramids: true }));
      for (const [what, left] of Object.entries(provider.account)) assert.equal(left.size, 0, what);
      await assert.rejects(env(), { code: "ENOENT" });
    });
  });
}

test("a token whose creation was interrupted gets a new value", () =>
  on({}, async ({ deploy, provider, root, env }) => {
    await deploy();
    const [token] = provider.account.tokens.values();
    const [before, text] = [token.value, await env()];
    await writeFile(join(root, ".edgezoom/production.env"), text.replace(/EDGEZOOM_QUEUE_TOKEN=.*\n/, ""));
    await writeFile(join(root, ".edgezoom/production.begun.json"), JSON.stringify([token.name]));
    await deploy();
    assert.notEqual(token.value, before);
    assert.ok((await env()).includes(`EDGEZOOM_QUEUE_TOKEN=${token.value}\n`));
    assert.equal(provider.account.tokens.size, 2);
  }));

test("secrets with unknown values are renewed only with --renew-tokens", () =>
  on({}, async ({ deploy, provider, root, lines, env }) => {
    await deploy();
    const before = shape(provider);
    const values = () =>
      [...provider.account.tokens.values()]
        .map(({ value }) => value)
        .concat(provider.account.scripts.get("edgezoom").secrets.TILER_TOKEN);
    const old = values();
    await writeFile(join(root, ".edgezoom/production.env"), ""); // another machine
    await deploy();
    assert.deepEqual(values(), old);
    assert.equal(lines.filter((line) => line.startsWith("note") && line.includes("--renew-tokens")).length, 3);
    assert.match(await env(), /# EDGEZOOM_TILER_TOKEN= is unknown/);
    await deploy({ renewTokens: true });
    for (const [index, value] of values().entries()) assert.notEqual(value, old[index]);
    assert.deepEqual(shape(provider), before);
  }));

test("without permission to create tokens, the operator creates them and fills in their values", () =>
  on({ forbidden: ["tokens"] }, async ({ deploy, lines, env, root }) => {
    await deploy();
    assert.equal(lines.filter((line) => line.startsWith("note") && line.includes("create one by hand")).length, 2);
    const text = await env();
    await writeFile(
      join(root, ".edgezoom/production.env"),
      text.replace(/# EDGEZOOM_QUEUE_TOKEN=.*\n/, "EDGEZOOM_QUEUE_TOKEN=by-hand\n"),
    );
    const { changes } = await deploy();
    assert.equal(changes, 0, lines.join("\n"));
    assert.match(await env(), /^EDGEZOOM_QUEUE_TOKEN=by-hand$/m);
  }));

test("the bucket keeps rules that others made", () =>
  on({}, async ({ deploy, provider, lines }) => {
    await deploy();
    const bucket = provider.account.buckets.get("edgezoom-pyramids");
    bucket.lifecycle = [{ id: "theirs", enabled: true, conditions: { prefix: "x/" } }];
    assert.equal((await deploy()).changes, 1, lines.join("\n"));
    assert.deepEqual(
      bucket.lifecycle.map(({ id }) => id),
      ["theirs", "edgezoom", "edgezoom-uploads"],
    );
    assert.equal((await deploy()).changes, 0, lines.join("\n"));
  }));

test("staging is separate from production, and removing it keeps its bucket unless asked", () =>
  on({}, async ({ deploy, undeploy, provider, lines }) => {
    await deploy();
    const production = shape(provider);
    const { address } = await deploy({ environment: "staging" });
    assert.equal(address, "https://edgezoom-staging.tests.workers.dev");
    assert.deepEqual([...provider.account.buckets.keys()], ["edgezoom-pyramids", "edgezoom-staging-pyramids"]);
    provider.account.buckets.get("edgezoom-staging-pyramids").objects.add("6qy4OXfXSid/1.szi");

    provider.calls();
    assert.ok((await undeploy({ environment: "staging", dryRun: true })) > 4);
    assert.deepEqual(
      provider.calls().filter((call) => !reading(call)),
      [],
    );
    await undeploy({ environment: "staging" });
    assert.ok(
      lines.includes("keep    R2 bucket edgezoom-staging-pyramids; `--pyramids` deletes it too"),
      lines.join("\n"),
    );
    await undeploy({ environment: "staging", pyramids: true });
    assert.deepEqual(shape(provider), production);
    assert.equal(await undeploy({ environment: "staging", pyramids: true }), 0);
  }));

test("edgezoom.example.toml is valid, with its commented settings too", async () => {
  const example = await readFile(new URL("../edgezoom.example.toml", import.meta.url), "utf8");
  assert.deepEqual(environments(example), ["production", "staging"]);
  const every = example.replace(/^# (?=[a-zA-Z_]+ = )/gm, ""); // uncomments the optional settings
  const { CACHE_URL } = addresses(settings(every, "production", { NOTICE_URL: "", REGIONS: "" }));
  assert.equal(CACHE_URL, "https://tiles.example.com/cache");
  assert.equal(settings(example, "staging", {}).prefix, "edgezoom-staging");
});

test("a mistake in edgezoom.toml is reported before any API call", async () => {
  for (const [from, to, said] of [
    ['domain = "zoom.example.com"', 'domain = "https://zoom.example.com"', /domain must be a lower-case host name/],
    ["NOTICE_URL", "NOTICE_URI", /NOTICE_URI cannot be set here/],
    ["NOTICE_URL", "CACHE_URL", /CACHE_URL cannot be set here/],
    ['location = "weur"', 'locaton = "weur"', /locaton is unknown; use one of domain,/],
    ["creations_per_minute = 7", "creations_per_minute = 0.5", /positive whole number/],
    ['NOTICE_URL = "https://example.com/notice"', 'DEVELOPMENT = "on"', /\[production\] vars.DEVELOPMENT must be "off": .* lifts all limits/],
    [/production/g, "live", /no \[production\]/],
    ['account = "', 'account = "x', /32 hexadecimal digits/],
    ["[staging]", "[staging", /./],
  ]) {
    await on({ settings: SETTINGS.replace(from, to) }, async ({ deploy, provider }) => {
      await assert.rejects(deploy(), said);
      assert.deepEqual(provider.calls(), []);
    });
  }
});

test("a repository in which DEVELOPMENT is on is not deployed", () =>
  on({}, async ({ root, deploy, provider }) => {
    const file = join(root, "wrangler.toml");
    await writeFile(file, (await readFile(file, "utf8")).replace('DEVELOPMENT = "off"', 'DEVELOPMENT = "on"'));
    await assert.rejects(deploy(), /vars.DEVELOPMENT must be "off"/);
    assert.deepEqual(provider.calls(), []);
  }));

test("the operator's contact is in the tilers' variables and on the page about the bot", () =>
  on({ settings: SETTINGS.replace("[staging]", '[staging]\ncontact = "zoom@example.com"') }, async ({ root, deploy, env }) => {
    const page = join(root, "edge/build/assets/bot.html");
    await mkdir(join(root, "edge/build/assets"));
    await writeFile(page, '<h2>Whom to ask</h2>\n<p id="contact">an earlier contact</p>\n<p>more</p>');
    await deploy({ environment: "staging" });
    assert.match(await env("staging"), /^EDGEZOOM_CONTACT=zoom@example.com$/m);
    assert.match(await readFile(page, "utf8"), /<p id="contact"><a href="mailto:zoom@example.com">zoom@example.com<\/a><\/p>\n<p>more/);
    await deploy();
    assert.doesNotMatch(await env(), /CONTACT/);
    assert.doesNotMatch(await readFile(page, "utf8"), /zoom@example.com|an earlier contact/, "production has no contact");
  }));

test("a contact that could end a header or a tag is rejected", () => {
  for (const contact of ["me", "a@b.c)", "a@b.c>", "<a@b.c>", "a b@c.d", 'a"@b.c']) {
    const text = SETTINGS.replace("[staging]", `[staging]\ncontact = ${JSON.stringify(contact)}`);
    assert.throws(() => settings(text, "staging", { NOTICE_URL: "" }), /e-mail address/, contact);
  }
});

const IN_CONTAINERS = SETTINGS.replace("[production]", '[production]\n  tilers = "containers"\n  containers = 3\n  container_hours_a_day = 5\n  contact = "zoom@example.com"').replace(
  "[production.vars]",
  '[production.vars]\n  EDGEZOOM_MAX_MEGAPIXELS = "500"',
);

test("with tilers in containers there is neither a queue nor a token, and deploying again changes nothing", () =>
  on({ settings: IN_CONTAINERS }, async ({ deploy, undeploy, provider, lines, env, root }) => {
    await deploy();
    const { queues, tokens, scripts } = provider.account;
    assert.deepEqual([queues.size, tokens.size], [0, 0]);
    const { production, staging } = JSON.parse(await readFile(join(root, ".edgezoom/wrangler.json"), "utf8")).env;
    assert.deepEqual(production.queues.producers, []);
    assert.deepEqual(production.containers, [
      {
        name: "edgezoom-tilers",
        class_name: "TilerObject",
        image: `docker.io/edgezoom/tiler@${DIGEST}`,
        instance_type: "standard-4",
        max_instances: 3,
        ssh: { enabled: false },
        rollout_active_grace_period: 780,
        constraints: { regions: ["WEUR", "EEUR"] },
      },
    ]);
    const { CONTAINERS, CONTAINER_HOURS_A_DAY, TILES_A_DAY, EDGEZOOM_CONTACT, EDGEZOOM_MAX_MEGAPIXELS } = production.vars;
    assert.deepEqual([CONTAINERS, CONTAINER_HOURS_A_DAY, TILES_A_DAY, EDGEZOOM_CONTACT, EDGEZOOM_MAX_MEGAPIXELS], ["3", "5", "1000000", "zoom@example.com", "500"]);
    assert.deepEqual([production.limits, staging.limits], [{ cpu_ms: 10_000 }, undefined]);
    assert.deepEqual([staging.containers, staging.vars.CONTAINERS, staging.queues.producers.length], [undefined, "0", 1]);
    const variables = await env();
    assert.match(variables, /^EDGEZOOM_TILER_TOKEN=/m);
    assert.match(variables, /^# EDGEZOOM_QUEUE_TOKEN= is unknown$/m);
    assert.equal(scripts.get("edgezoom").secrets.TILER_TOKEN, /^EDGEZOOM_TILER_TOKEN=(.*)$/m.exec(variables)[1]);
    const { changes } = await deploy();
    assert.equal(changes, 0, lines.join("\n"));
    await undeploy({ pyramids: true });
    for (const [what, left] of Object.entries(provider.account)) assert.equal(left.size, 0, what);
  }));

test("with containers, a token for the account that may not see queues is enough", () =>
  on({ settings: IN_CONTAINERS, forbidden: ["queues", "tokens"] }, async ({ deploy, undeploy, lines }) => {
    await deploy();
    assert.equal(lines.filter((line) => /^note .*(may not see queues|may not manage tokens)/.test(line)).length, 3, lines.join("\n"));
    assert.equal((await deploy()).changes, 0, lines.join("\n"));
    await undeploy({ pyramids: true });
  }));

test("an image is pinned by the digest that its registry names, and the published one is verified", async () => {
  const lines = [];
  const plan = { keep: (text) => lines.push(text), note: (text) => lines.push(text) };
  const asked = [];
  const realm = "https://auth.docker.io/token";
  /** A registry that wants a token, as Docker Hub does. */
  const fetch = async (url, { headers } = {}) => {
    asked.push(url);
    if (url.startsWith(realm)) return Response.json({ token: "for-all" });
    if (headers.Authorization) return new Response(null, { headers: { "Docker-Content-Digest": DIGEST } });
    const challenge = `Bearer realm="${realm}",service="registry.docker.io",scope="repository:edgezoom/tiler:pull"`;
    return new Response(null, { status: 401, headers: { "WWW-Authenticate": challenge } });
  };
  const commands = [];
  const run = (...working) => (words) => (commands.push(words.join(" ")), working.includes(words[0]));
  const image = `docker.io/edgezoom/tiler@${DIGEST}`;
  assert.equal(await pinned(IMAGE, plan, { fetch, gh: run("auth", "attestation") }), image);
  const manifest = `https://registry-1.docker.io/v2/edgezoom/tiler/manifests/${IMAGE.split(":")[1]}`;
  const query = "service=registry.docker.io&scope=repository%3Aedgezoom%2Ftiler%3Apull";
  assert.deepEqual(asked.splice(0), [manifest, `${realm}?${query}`, manifest]);
  assert.deepEqual(commands.splice(0), ["auth status", `attestation verify oci://${image} --repo edgezoom/edgezoom`]);
  assert.deepEqual(lines.splice(0), [`image ${image}`]);

  assert.equal(await pinned(IMAGE, plan, { fetch, gh: run() }), image);
  assert.match(lines.splice(0)[1], /not verified: install GitHub's `gh`/);
  await assert.rejects(pinned(image, plan, { fetch, gh: run("auth") }), /no valid attestation/);
  const own = `registry.example/you/tiler@${DIGEST}`;
  assert.equal(await pinned(own, plan, { gh: assert.fail, fetch: assert.fail }), own, "with its digest");
  const closed = async () => new Response(null, { status: 404 });
  await assert.rejects(pinned("registry.example/you/tiler:1", plan, { fetch: closed }), /answers 404 for you\/tiler:1; name the image by its digest/);
});

test("a service moves from machines to containers and back", () =>
  on({}, async ({ deploy, provider, root, env }) => {
    await deploy();
    const before = await env();
    await writeFile(join(root, "edgezoom.toml"), IN_CONTAINERS);
    await deploy();
    const { queues, tokens } = provider.account;
    assert.deepEqual([queues.size, tokens.size], [0, 0]);
    assert.doesNotMatch(await env(), /^EDGEZOOM_(QUEUE|S3)/m);
    await writeFile(join(root, "edgezoom.toml"), SETTINGS);
    await deploy();
    assert.deepEqual([queues.size, tokens.size], [1, 2]);
    const after = await env();
    assert.equal(after.match(/^EDGEZOOM_TILER_TOKEN=.*$/m)[0], before.match(/^EDGEZOOM_TILER_TOKEN=.*$/m)[0]);
    assert.match(after, /^EDGEZOOM_S3_SECRET_ACCESS_KEY=/m);
  }));

test("settings of containers need containers, and an image that can be pulled without a login", async () => {
  const read = (lines) => settings(SETTINGS.replace("[production]", `[production]\n  ${lines}`), "production", { CONTAINERS: "0", NOTICE_URL: "" });
  assert.throws(() => read("containers = 2"), /containers needs tilers = "containers"/);
  assert.throws(() => read('tilers = "containers"\n  image = "edgezoom"'), /must be a reference/);
  assert.throws(() => read('tilers = "clouds"'), /machines, containers/);
  assert.equal(read("").containers, undefined);
  assert.deepEqual(read('tilers = "containers"').containers, { most: 2, hoursADay: 24, image: IMAGE, instance: "standard-4" });
  const cargo = await readFile(join(REPOSITORY, "Cargo.toml"), "utf8");
  assert.ok(IMAGE.endsWith(`:${/^version = "(.*)"$/m.exec(cargo)[1]}`), "the image of another version");
});
