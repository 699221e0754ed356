// Tests the output of one list in every format.
import { expect, it, test } from "vitest";
import {
  FORMATS,
  inFormat,
  listOf,
  type OutputFormat,
  textOf,
} from "../../../../infra/operator/render/shown.ts";
import { valueOr } from "../../../../shared/result.ts";
import { PIPE } from "../../../../infra/operator/render/terminal.ts";

const rows = [
  { name: "edge-1", why: 'he said "no",\nthen left' },
  { name: "edge-2", why: "=cmd()" },
];
const list = listOf(
  rows,
  () => [
    { head: "NAME", of: ({ name }) => name, rank: 0 },
    { head: "WHY", of: ({ why }) => why, rank: 1, isWide: true },
  ],
  { nameOf: ({ name }) => name },
);
const sent = { machines: rows };
const view = (isWide: boolean) => ({ screen: PIPE, nowMs: 0, isWide });

test.each<[format: OutputFormat | undefined, text: string]>([
  [undefined, "NAME\nedge-1\nedge-2\n"],
  ["wide", 'NAME     WHY\nedge-1   he said "no", then left\nedge-2   =cmd()\n'],
  ["json", `${JSON.stringify(sent, null, 2)}\n`],
  [
    "yaml",
    'machines:\n  - name: edge-1\n    why: |-\n      he said "no",\n      then left\n  - name: edge-2\n    why: =cmd()\n',
  ],
  ["name", "edge-1\nedge-2\n"],
  ["csv", 'name,why\nedge-1,"he said ""no"",\nthen left"\nedge-2,\'=cmd()\n'],
  ["jsonl", rows.map((row) => `${JSON.stringify(row)}\n`).join("")],
])("-o %s", async (format, text) => {
  expect(await inFormat(list, sent, format, view(format === "wide"))).toEqual({ ok: true, value: text });
});

it("what is no list → text, JSON and YAML alone", async () => {
  const outcomes = await Promise.all(
    FORMATS.map(
      async (format) =>
        (
          await inFormat(
            textOf(() => "t"),
            1,
            format,
            view(false),
          )
        ).ok,
    ),
  );
  expect(Object.fromEntries(FORMATS.map((format, index) => [format, outcomes[index]]))).toEqual({
    wide: true,
    json: true,
    yaml: true,
    name: false,
    csv: false,
    jsonl: false,
  });
});

test.each<OutputFormat>(["yaml", "name", "csv", "jsonl", "json"])(
  "-o %s has no control character but line breaks",
  async (format) => {
    const hostile = [{ name: "\u001B[31mx\u009B2J\u202E", why: "\u001B[31ma\nb" }];
    const shown = listOf(hostile, () => [{ head: "WHY", of: ({ why }) => why, rank: 0 }], {
      nameOf: ({ name }) => name,
    });
    const text = await inFormat(shown, hostile, format, view(false));
    expect(valueOr(text, "\u001B").replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  },
);
