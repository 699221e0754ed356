// Tests with promtool the files for operators' Prometheus and the Worker's metrics, and runs the rules' own tests.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  DURATION_BUCKETS,
  exposition,
  type Measured,
  type MetricName,
  METRICS,
  type Sample,
} from "../../../../worker/metrics/metrics.ts";
import { root } from "../../../house/markdown.ts";

const FOLDER = join(root, "infra/prometheus");
const panels = ["dashboard.json", "usage-dashboard.json"].flatMap((file) => {
  const text = readFileSync(join(FOLDER, file), "utf8");
  return (JSON.parse(text) as { panels: { targets: { expr: string }[] }[] }).panels;
});

const promtool = (args: string[], input = "") =>
  spawnSync("promtool", args, { cwd: FOLDER, encoding: "utf8", input });
const hasPromtool = promtool(["--version"]).status === 0;

describe.skipIf(!hasPromtool)("promtool", () => {
  it("accepts the scrape configuration with its rules, and the rules pass their own tests", () => {
    for (const args of [
      ["check", "config", "--syntax-only", "prometheus.yml"],
      ["check", "rules", "rollcall.rules.yml"],
      ["test", "rules", "rollcall.rules.test.yml"],
    ]) {
      const { status, stdout, stderr } = promtool(args);
      expect([args.join(" "), status, stdout + stderr]).toEqual([args.join(" "), 0, expect.any(String)]);
    }
  });

  it("has no complaint about the Worker's text", () => {
    const { status, stdout, stderr } = promtool(["check", "metrics"], exposition([everyMetric()], "plain"));
    expect([status, stdout, stderr]).toEqual([0, "", ""]);
  });

  it("accepts every expression of the dashboards", () => {
    const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const text = expressions.map((expr) => expr.replaceAll("$__rate_interval", "5m"));
    const file = JSON.stringify({
      groups: [{ name: "g", rules: text.map((expr, index) => ({ record: `r${index}`, expr })) }],
    });
    const folder = mkdtempSync(join(tmpdir(), "rollcall-dashboard-"));
    writeFileSync(join(folder, "rules.json"), file);
    const { status, stderr } = promtool(["check", "rules", "--lint=none", join(folder, "rules.json")]);
    rmSync(folder, { recursive: true });
    expect([status, stderr]).toEqual([0, ""]);
  });
});

/** Makes a sample of each metric, with labels that need escaping. */
function everyMetric(): Measured {
  const sample = (name: MetricName): Sample[] => {
    const isHistogram = METRICS[name][0] === "histogram";
    const value = isHistogram ? { counts: [...DURATION_BUCKETS, 0].map(() => 1), sum: 1.5 } : 1;
    return [{ labels: { a: 'x"\\\n' }, value, sinceMs: 1500 }];
  };
  return Object.fromEntries((Object.keys(METRICS) as MetricName[]).map((name) => [name, sample(name)]));
}
