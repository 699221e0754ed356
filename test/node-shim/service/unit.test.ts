// Tests that the service's command and environment are read from a unit as systemd reads them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import {
  environmentIn,
  runArguments,
  serviceOf,
  UNIT_NAME,
  unitText,
} from "../../../node-shim/service/unit.ts";
import { ROOT } from "../base/temporary-folder.ts";

const TEMPLATE = readFileSync(join(ROOT, "infra/systemd", UNIT_NAME), "utf8");
const service = (...lines: string[]) => ["[Service]", ...lines].join("\n");
const none = new Map<string, string>();

describe("a unit and its drop-ins → command, environment, files", () => {
  it("the packages' unit", () => {
    expect(serviceOf([TEMPLATE])).toEqual({
      execStart:
        "/usr/bin/node /usr/share/rollcall-node-shim/bin/node-shim.cjs run --config /etc/rollcall/kubelet.yaml $NODE_SHIM_FLAGS",
      environment: [["MALLOC_TRIM_THRESHOLD_", "65536"]],
      environmentFiles: ["/etc/rollcall/node-shim.env"],
    });
  });

  test.each<[situation: string, texts: string[], expected: object]>([
    [
      "a drop-in adds a variable",
      [service("Environment=A=1"), service("Environment=B=2")],
      {
        environment: [
          ["A", "1"],
          ["B", "2"],
        ],
      },
    ],
    [
      "several in one line, quoted",
      [service(`Environment="A=1 2" B='3' C=100%%`)],
      {
        environment: [
          ["A", "1 2"],
          ["B", "3"],
          ["C", "100%"],
        ],
      },
    ],
    [
      "an empty value removes earlier ones",
      [
        service("Environment=A=1", "EnvironmentFile=/a", "ExecStart=/x run"),
        service("Environment=", "EnvironmentFile=", "ExecStart=", "ExecStart=/y run"),
      ],
      { execStart: "/y run", environment: [], environmentFiles: [] },
    ],
    [
      "a file that may be missing",
      [service("EnvironmentFile=-/a", "EnvironmentFile=/b")],
      { environmentFiles: ["/a", "/b"] },
    ],
    [
      "a continued line",
      [service("ExecStart=/x run \\", "  --max-pods 7")],
      { execStart: "/x run    --max-pods 7" },
    ],
    [
      "comments, and other sections",
      ["[Unit]\nExecStart=/no\n[Service]\n#ExecStart=/no\n;ExecStart=/no\n"],
      { execStart: "" },
    ],
  ])("%s", (_situation, texts, expected) => {
    expect(serviceOf(texts)).toMatchObject(expected);
  });
});

describe("a file of variables", () => {
  test.each<[line: string, read: [string, string][]]>([
    ["A=1", [["A", "1"]]],
    ["A=--node-labels=a=b --max-pods 7", [["A", "--node-labels=a=b --max-pods 7"]]],
    ['A="x \\"y\\" z"', [["A", 'x "y" z']]],
    ["A='x \\'", [["A", "x \\"]]],
    ["A=", [["A", ""]]],
    ["A=one\\\ntwo", [["A", "onetwo"]]],
    ["#A=1", []],
    ["  ; A=1", []],
    ["no assignment", []],
  ])("%s", (line, read) => {
    expect(environmentIn(line)).toEqual(read);
  });
});

describe("a command line → the flags of run", () => {
  const flagsOf = (execStart: string, environment: [string, string][] = []) =>
    runArguments(execStart, new Map(environment));
  test.each<
    [situation: string, execStart: string, environment: [string, string][], flags: string[] | undefined]
  >([
    ["a variable of several words", "/n s run $F", [["F", "--a b '--c=d e'"]], ["--a", "b", "--c=d e"]],
    ["one that is not set", "/n s run $F --a", [], ["--a"]],
    ["within a word", "/n s run --a=${F}", [["F", "b c"]], ["--a=b c"]],
    ["escaped characters", '/n s run "--a=50%%/$$F"', [["F", "no"]], ["--a=50%/$F"]],
    ["another command", "/n s leave", [], undefined],
    ["none", "", [], undefined],
  ])("%s", (_situation, execStart, environment, flags) => {
    expect(flagsOf(execStart, environment)).toEqual(flags);
  });

  test.each([
    [['--config=/a b/"c"\\', "--eviction-hard=nodefs.available<5%"]],
    [["--node-labels=a=$HOME,b=${X}", "--max-pods=7", "--facts-dir="]],
  ])("the command of install-service (%s) → its own flags", (flags) => {
    const unit = unitText(TEMPLATE, { node: "/n", shim: "/s", flags, state: "/var/lib/rollcall" });
    expect(runArguments(serviceOf([unit]).execStart, none)).toEqual(flags);
  });
});
