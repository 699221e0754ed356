// Tests the files for operators' Prometheus, Alertmanager and Grafana: they can be parsed, and name only existing
// metrics.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { parse } from "yaml";
import { METRICS } from "../../../worker/metrics/metrics.ts";
import { root } from "../../house/markdown.ts";

const FOLDER = join(root, "infra/prometheus");
const textOf = (file: string) => readFileSync(join(FOLDER, file), "utf8");

interface Rule {
  alert: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}
const { groups } = parse(textOf("rollcall.rules.yml")) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const tests = textOf("rollcall.rules.test.yml");

interface Panel {
  id: number;
  title: string;
  type: string;
  datasource: { uid: string };
  targets: { expr: string; refId: string }[];
  gridPos: { x: number; y: number; w: number; h: number };
}
const DASHBOARDS = { "dashboard.json": "rollcall-fleet", "usage-dashboard.json": "rollcall-usage" };
const dashboards = Object.entries(DASHBOARDS).map(([file, id]) => {
  return { file, id, ...(JSON.parse(textOf(file)) as { uid: string; title: string; panels: Panel[] }) };
});

/** Returns the name of a sample's metric, without the endings that histograms and OpenMetrics add. */
const baseOf = (name: string) => name.replace(/_(bucket|sum|count|created)$/, "");
const metricsIn = (text: string) =>
  new Set([...text.matchAll(/\b(rollcall|node)_(?!exporter)\w+/g)].map(([name]) => baseOf(name)));

test.each(["rollcall.rules.yml", "rollcall.rules.test.yml", ...Object.keys(DASHBOARDS)])(
  "each metric that %s names is one of the Worker's",
  (file) => {
    const named = metricsIn(textOf(file));
    expect(named.size).toBeGreaterThan(5);
    expect([...named].filter((name) => !(name in METRICS))).toEqual([]);
  },
);

describe("alerts", () => {
  it.each(rules.map(({ alert, labels, annotations }) => ({ alert, labels, annotations })))(
    "$alert is Rollcall's, is tested, and says how severe it is and what to do",
    ({ alert, labels, annotations }) => {
      expect(alert).toMatch(/^Rollcall[A-Z]/);
      expect(tests).toContain(alert);
      expect(["critical", "warning", "info"]).toContain(labels["severity"]);
      expect(annotations).toEqual({
        summary: expect.stringMatching(/\.$/),
        description: expect.stringMatching(/\.$/),
      });
    },
  );

  it("that follow from an apiserver that cannot be reached are said by it alone, and its causes are not among them", () => {
    const { inhibit_rules: inhibitions } = parse(textOf("alertmanager.yml")) as { inhibit_rules: object[] };
    expect(inhibitions).toContainEqual({
      source_matchers: ['alertname="RollcallClusterUnreachable"'],
      target_matchers: ['follows="cluster"'],
      equal: ["job", "instance"],
    });
    const own = rules.filter(({ labels }) => labels["follows"] === undefined).map(({ alert }) => alert);
    expect(own).toEqual(
      expect.arrayContaining([
        "RollcallClusterUnreachable",
        "RollcallTokenEnding",
        "RollcallTokenNotRenewed",
      ]),
    );
    expect(rules.length - own.length).toBeGreaterThan(5);
  });
});

describe.each(dashboards)("$file", ({ id, uid, panels }) => {
  it("has the ID that links to it lead to, and panels that do not overlap", () => {
    expect(uid).toBe(id);
    const ids = panels.map((panel) => panel.id);
    expect(new Set(ids).size).toBe(ids.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(cells.every((cell) => Number(cell.split(",")[0]) < 24)).toBe(true);
  });

  it.each(panels)("$title asks the data source that was chosen, for the Workers that were", (panel) => {
    expect(panel.datasource.uid).toBe("${datasource}");
    for (const { expr } of panel.targets) expect(expr).toContain('{job="rollcall", instance=~"$instance"');
  });
});

it("each file that an operator takes over is named in the folder's README", () => {
  const readme = textOf("README.md");
  expect(readdirSync(FOLDER).filter((file) => file !== "README.md" && !readme.includes(file))).toEqual([]);
});
