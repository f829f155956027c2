// Dashboard and alerts, checked by `promtool`. The tiler's tests check that each metric exists.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../monitoring/", import.meta.url));
const dashboard = JSON.parse(await readFile(`${folder}dashboard.json`, "utf8"));
const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

const promtool = (...words) => spawnSync("promtool", words, { cwd: folder, encoding: "utf8" });
const skip = promtool("--version").error ? "promtool is not installed (Debian's package prometheus)" : false;

function succeeds(...words) {
  const { status, stdout, stderr } = promtool(...words);
  assert.equal(status, 0, stdout + stderr);
}

test("alert rules and example configuration are valid, and each alert fires on its condition", { skip }, () => {
  succeeds("check", "rules", "alerts.yml");
  succeeds("check", "config", "prometheus.yml");
  succeeds("test", "rules", "alerts.test.yml");
});

test("every dashboard query is valid PromQL", { skip }, async () => {
  const rules = expressions.map((expr, index) => ({
    record: `panel:${index}`,
    // Grafana replaces these.
    expr: expr.replaceAll("$__rate_interval", "1m").replaceAll("$tiler", ".*"),
  }));
  const file = `${folder}.queries.json`;
  try {
    await writeFile(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] })); // JSON is YAML
    succeeds("check", "rules", file);
  } finally {
    await rm(file, { force: true });
  }
});

test("every dashboard panel has queries, a place of its own, and the selected data source", () => {
  const cells = new Set();
  for (const { title, datasource, gridPos, targets } of dashboard.panels) {
    assert.ok(targets.length > 0 && targets.every(({ expr }) => expr), title);
    assert.equal(datasource.uid, "${source}", title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.ok(x < 24 && !cells.has(`${x} ${y}`), `${title} overlaps`);
        cells.add(`${x} ${y}`);
      }
    }
  }
});
