// Tests the facts that come from a folder of drop-ins: good, bad and hanging drop-ins, and the age of their
// outputs.
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import type { RunProgram } from "../../../../node-shim/base/child.ts";
import { dropInFolder, mergeDropIns } from "../../../../node-shim/sources/drop-ins/drop-ins.ts";
import { failure, type Result, success } from "../../../../shared/result.ts";
import { customSchema, dropInSchema, dropInsSchema } from "../../../../shared/protocol/drop-ins.ts";
import { temporaryFolder } from "../../base/temporary-folder.ts";

const isRoot = process.geteuid?.() === 0;

let temporary: { path: string; remove: () => void };
let folder: string;
/** The result of each program, by the program's name. */
let programs: Record<string, Result<string>>;
beforeEach(() => {
  programs = {};
  temporary = temporaryFolder();
  folder = join(temporary.path, "facts.d");
  mkdirSync(folder, { mode: 0o755 });
});
afterEach(() => temporary.remove());

const RAID = {
  type: "RaidDegraded",
  status: "True",
  reason: "MemberMissing",
  message: "md0",
  expiresInSeconds: 300,
} as const;
const WRITTEN_AT_MS = 1_700_000_000_000;

function write(name: string, text: string, mode = 0o644): void {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  utimesSync(path, WRITTEN_AT_MS / 1000, WRITTEN_AT_MS / 1000);
}
const writeJson = (name: string, content: unknown) => write(name, JSON.stringify(content));
function writeProgram(name: string, output: Result<string>): void {
  write(name, "#!/bin/sh\n", 0o755);
  programs[name] = output;
}
const outputOf = (content: unknown) => success(`${JSON.stringify(content)}\n`);

const DEADLINE_MS = 60_000;

/** Returns a reader of the folder, with the test's clock and programs. */
function looking(
  run: RunProgram = ({ program }) => Promise.resolve(programs[program] ?? failure("is unknown")),
  path = folder,
  others: NonNullable<Parameters<typeof dropInFolder>[0]["others"]> = () => new Map(),
) {
  const clock = { nowMs: 0, wallMs: WRITTEN_AT_MS };
  const read = dropInFolder({
    folder: path,
    run,
    deadlineMs: DEADLINE_MS,
    nowMs: () => clock.nowMs,
    wallMs: () => clock.wallMs,
    others,
  });
  return { read, clock };
}

it("a file and a program → the facts of both", async () => {
  writeJson("10-rack.json", { labels: { "example.com/rack": "b7" }, resources: { "example.com/fpga": 2 } });
  writeProgram("20-raid", outputOf({ conditions: [RAID] }));
  write(".hidden", "not a drop-in");
  expect(await looking().read(true)).toEqual({
    dropIns: {
      resources: { "example.com/fpga": 2 },
      labels: { "example.com/rack": "b7" },
      conditions: [RAID],
      working: 2,
      failures: [],
    },
    remainingSeconds: { RaidDegraded: 300 },
  });
});

it("a file with a byte order mark → its facts", async () => {
  write("rack.json", `\uFEFF{ "labels": { "example.com/rack": "b7" } }`);
  expect((await looking().read(true)).dropIns).toMatchObject({
    labels: { "example.com/rack": "b7" },
    failures: [],
  });
});

it("a program → run by its name in the opened folder, with a deadline and a limit for its output", async () => {
  writeProgram("raid", success("{}"));
  const asked: object[] = [];
  await looking((options) => {
    asked.push(options);
    expect(readlinkSync(`/proc/self/fd/${options.folder}`)).toBe(folder);
    return Promise.resolve(success("{}"));
  }).read(true);
  expect(asked).toEqual([
    {
      program: "raid",
      folder: expect.any(Number) as number,
      args: [],
      deadlineMs: DEADLINE_MS,
      maxBytes: 65_536,
    },
  ]);
});

it("custom facts → reported apart from other facts", async () => {
  writeJson("10-licence.json", { custom: { licenceUntil: "2031-03-01T00:00:00Z", seats: 7 } });
  writeJson("20-door.json", { custom: { isOpen: false } });
  const { dropIns, custom } = await looking().read(true);
  expect(custom).toEqual({ licenceUntil: "2031-03-01T00:00:00Z", seats: 7, isOpen: false });
  expect(dropIns).toEqual({ resources: {}, labels: {}, conditions: [], working: 2, failures: [] });
});

it("control characters in a message → replaced, and the condition stays", async () => {
  writeJson("raid.json", { conditions: [{ ...RAID, message: "md0\nmd1\u001b[2J" }] });
  expect((await looking().read(true)).dropIns?.conditions).toEqual([
    { ...RAID, message: "md0 md1\u{FFFD}[2J" },
  ]);
});

it("no folder, or an empty one → no drop-ins", async () => {
  expect(await looking().read(true)).toEqual({ dropIns: null });
  rmSync(folder, { recursive: true });
  expect(await looking().read(true)).toEqual({ dropIns: null });
});

it("the first report does not wait for them", async () => {
  writeProgram("slow", success("{}"));
  const { read } = looking(() => new Promise(() => undefined));
  expect(await read(false)).toEqual({});
});

describe("one that does not work → named with its fault, and the others still count", () => {
  test.each<[situation: string, write: () => void, error: string | RegExp]>([
    ["fails, hangs or floods", () => writeProgram("bad", failure("ended with 2: why")), "ended with 2: why"],
    ["prints no JSON", () => writeProgram("bad", success("hello\n")), /^is not JSON: /],
    ["cannot be run", () => write("bad", "#!/bin/sh\n"), "neither ends in .json nor is executable"],
    ["is too large", () => write("bad.json", " ".repeat(65_537)), "is larger than 65536 bytes"],
    ["is no JSON", () => write("bad.json", "{"), /^is not JSON: /],
    ["is empty", () => write("bad.json", "\n"), /^is empty: it must be a JSON object/],
    ["prints nothing", () => writeProgram("bad", success("")), /^is empty: it must be a JSON object/],
    ["has an unknown field", () => writeJson("bad.json", { taints: [] }), "/taints: unknown field"],
    [
      "can be written by others",
      () => write("bad.json", "{}", 0o666),
      "can be written by others (mode 666): chmod go-w",
    ],
    ["is a link", () => symlinkSync("/etc/hostname", join(folder, "bad.json")), /links are not followed/],
    ["is a folder", () => mkdirSync(join(folder, "bad.json")), /is not a file/],
  ])("%s", async (_, write, error) => {
    write();
    writeJson("good.json", { labels: { "example.com/rack": "b7" } });
    const { dropIns } = await looking().read(true);
    expect(dropIns?.failures).toHaveLength(1);
    expect(dropIns?.failures[0]?.name).toMatch(/^bad/);
    expect(dropIns?.failures[0]?.error).toMatch(error);
    expect(dropIns).toMatchObject({ working: 1, labels: { "example.com/rack": "b7" } });
    expect(dropInsSchema.safeParse(dropIns).error).toBeUndefined();
  });
});

describe("a folder that another user can fill → no drop-in is read or run", () => {
  const EVE = 4711;
  const fault = (text: string) => `the folder is not trusted: ${text}`;
  const refused = async (error: string, path = folder) => {
    writeJson("rack.json", { labels: { "example.com/rack": "b7" } });
    writeProgram("raid", outputOf({ labels: { "example.com/raid": "5" } }));
    const ran: string[] = [];
    const { read } = looking(({ program }) => {
      ran.push(program);
      return Promise.resolve(success("{}"));
    }, path);
    expect((await read(true)).dropIns).toMatchObject({ labels: {}, failures: [{ name: path, error }] });
    expect(ran).toEqual([]);
  };

  it("others may write to it", async () => {
    chmodSync(folder, 0o777);
    await refused(fault(`${folder} can be written by others (mode 777): chmod go-w`));
  });

  it("others may write to the folder above it", async () => {
    chmodSync(temporary.path, 0o757);
    await refused(fault(`${temporary.path} can be written by others (mode 757): chmod go-w`));
  });

  describe.runIf(isRoot)("of several users (only as root)", () => {
    it("the folder above it is another user's", async () => {
      chownSync(temporary.path, EVE, EVE);
      await refused(
        fault(
          `${temporary.path} belongs to user ${EVE}, who can replace what is in it: run as that user, or use another folder`,
        ),
      );
    });

    it("another user's link leads to it", async () => {
      const link = join(temporary.path, "link");
      symlinkSync("facts.d", link);
      lchownSync(link, EVE, EVE);
      await refused(fault(`${link} is a link of user ${EVE}'s: remove it`), link);
    });

    it("a drop-in is another user's → only the others count", async () => {
      writeJson("bad.json", {});
      chownSync(join(folder, "bad.json"), EVE, EVE);
      writeJson("rack.json", { labels: { "example.com/rack": "b7" } });
      expect((await looking().read(true)).dropIns).toMatchObject({
        labels: { "example.com/rack": "b7" },
        failures: [{ name: "bad.json", error: `belongs to user ${EVE}: chown it to root` }],
      });
    });
  });
});

describe("time", () => {
  it("a condition ages from its report; its program runs again once a minute", async () => {
    writeProgram("raid", outputOf({ conditions: [RAID] }));
    const { read, clock } = looking();
    await read(true);
    clock.nowMs = 59_500;
    expect(await read(false)).toMatchObject({ remainingSeconds: { RaidDegraded: 241 } });
    await read(true);
    expect(await read(false)).toMatchObject({ remainingSeconds: { RaidDegraded: 300 } });
  });

  it("a file's conditions age from its writing, also after the machine's clock was set", async () => {
    writeJson("raid.json", { conditions: [RAID] });
    const { read, clock } = looking();
    clock.wallMs = WRITTEN_AT_MS + 100_000;
    expect(await read(true)).toMatchObject({ remainingSeconds: { RaidDegraded: 200 } });
    clock.wallMs = WRITTEN_AT_MS - 100_000;
    expect(await read(true)).toMatchObject({ remainingSeconds: { RaidDegraded: 300 } });
    clock.wallMs = WRITTEN_AT_MS + 999_000;
    expect(await read(true)).toMatchObject({ remainingSeconds: { RaidDegraded: 0 } });
  });

  it("one that starts to fail → its facts stay, and its condition expires", async () => {
    const said = { labels: { "example.com/a": "b" }, conditions: [RAID] };
    writeProgram("raid", outputOf(said));
    const { read, clock } = looking();
    await read(true);
    writeProgram("raid", failure("ended with 1"));
    clock.nowMs = 200_000;
    const looked = await read(true);
    expect(looked.dropIns).toMatchObject({ ...said, working: 0, failures: [{ name: "raid" }] });
    expect(looked.remainingSeconds).toEqual({ RaidDegraded: 100 });
    clock.nowMs = 301_000;
    expect((await read(true)).remainingSeconds).toEqual({ RaidDegraded: 0 });
  });

  it("one that is removed → all of its facts are removed", async () => {
    writeJson("rack.json", { labels: { "example.com/rack": "b7" } });
    const { read } = looking();
    await read(true);
    rmSync(join(folder, "rack.json"));
    expect(await read(true)).toEqual({ dropIns: null });
  });
});

describe("several", () => {
  const dropIn = (said: object) => dropInSchema.parse(said);

  it("that report the same → the first by name counts, the other has a fault", () => {
    const merged = mergeDropIns([
      { name: "a", dropIn: dropIn({ labels: { "example.com/rack": "1" } }) },
      {
        name: "b",
        dropIn: dropIn({ labels: { "example.com/rack": "2" }, resources: { "example.com/x": 1 } }),
      },
      { name: "c", dropIn: dropIn({ labels: { constructor: "x" } }) },
    ]);
    expect(merged.labels).toEqual({ "example.com/rack": "1", constructor: "x" });
    expect(merged.resources).toEqual({});
    expect(merged.failures).toEqual([{ name: "b", error: "example.com/rack is another drop-in's already" }]);
  });

  it("with 32 labels together → accepted; with one more → the last has a fault", () => {
    const labels = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`example.com/l${from + at}`, "v"]));
    const first = { name: "a", dropIn: dropIn({ labels: labels(0, 31) }) };
    expect(mergeDropIns([first, { name: "b", dropIn: dropIn({ labels: labels(31, 1) }) }]).failures).toEqual(
      [],
    );
    expect(mergeDropIns([first, { name: "b", dropIn: dropIn({ labels: labels(31, 2) }) }]).failures).toEqual([
      { name: "b", error: "more than 32 labels of all drop-ins together" },
    ]);
  });

  it("that have a custom fact of the same name → the first by name counts, the other has a fault", () => {
    const merged = mergeDropIns([
      { name: "a", dropIn: dropIn({ custom: { isOpen: true } }) },
      { name: "b", dropIn: dropIn({ custom: { isOpen: false, seats: 7 } }) },
    ]);
    expect(merged.custom).toEqual({ isOpen: true });
    expect(merged.failures).toEqual([{ name: "b", error: "isOpen is another drop-in's already" }]);
  });

  it("with 64 custom facts together → accepted; with one more → the last has a fault", () => {
    const custom = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`fact${from + at}`, at]));
    const first = { name: "a", dropIn: dropIn({ custom: custom(0, 63) }) };
    const failuresWith = (count: number) =>
      mergeDropIns([first, { name: "b", dropIn: dropIn({ custom: custom(63, count) }) }]).failures;
    expect(failuresWith(1)).toEqual([]);
    expect(failuresWith(2)).toEqual([
      { name: "b", error: "more than 64 custom facts of all drop-ins together" },
    ]);
  });

  it.each([
    ["", 0, 9],
    [", with two problem monitors", 2, 11],
  ])("more files than the limit%s → logged, and the schema's limits hold", async (_, monitors, left) => {
    for (let at = 10; at < 50; at++) writeJson(`${at}.json`, {});
    const others = new Map(
      Array.from({ length: monitors }, (__, at) => [`/${at}`, { dropIn: dropIn({}), readMs: 0 }]),
    );
    const { dropIns } = await looking(undefined, folder, () => others).read(true);
    expect(dropIns).toMatchObject({
      working: 31,
      failures: [{ name: folder, error: `${left} more than are looked at are there` }],
    });
    expect(dropInsSchema.safeParse(dropIns).error).toBeUndefined();
  });
});

test.each([
  ["the kubelet's", { conditions: [{ ...RAID, type: "Ready" }] }, /not a drop-in's to set/],
  ["rollcall's own", { conditions: [{ ...RAID, type: "DropInsFailed" }] }, /not a drop-in's to set/],
  ["no CamelCase", { conditions: [{ ...RAID, type: "raid" }] }, /CamelCase/],
  ["there twice", { conditions: [RAID, RAID] }, /a type twice/],
  ["for ever", { conditions: [{ ...RAID, expiresInSeconds: 604_801 }] }, /Too big/],
  ["without an end", { conditions: [{ ...RAID, expiresInSeconds: undefined }] }, /expected number/],
  [
    "a label of the cluster's",
    { labels: { "node-role.kubernetes.io/control-plane": "" } },
    /unknown 'kubernetes.io'/,
  ],
  [
    "a label of the Node's",
    { labels: { "kubernetes.io/hostname": "x" } },
    /hostname is not a drop-in's to set/,
  ],
  ["a label of rollcall's", { labels: { "rollcall.dev/cpu-model": "x" } }, /is not a drop-in's to set/],
  ["no label's value", { labels: { "example.com/a": "b c" } }, /invalid node labels/],
  ["a native resource", { resources: { cpu: 1 } }, /not an extended resource/],
  [
    "65 custom facts",
    {
      custom: Object.fromEntries(
        Array(65)
          .fill(0)
          .map((_, at) => [`f${at}`, at]),
      ),
    },
    /too many/,
  ],
  ["a custom fact without a name", { custom: { "": 1 } }, /Too small/],
  ["a custom fact with a name too long", { custom: { ["n".repeat(254)]: 1 } }, /Too big/],
  ["a custom text too long", { custom: { text: "t".repeat(1025) } }, /Too big/],
  ["a list of custom facts", { custom: { list: [1] } }, /Invalid input/],
  ["a negative number", { resources: { "example.com/x": -1 } }, /Too small/],
])("refused in a drop-in: %s", (_, said, fault) => {
  expect(JSON.stringify(dropInSchema.safeParse(said).error?.issues)).toMatch(fault);
});

it("a custom fact at its limits → accepted", () => {
  const custom = Object.fromEntries(
    Array.from({ length: 64 }, (_, at) => [`n${at}`.padEnd(253, "n"), "t".repeat(1024)]),
  );
  expect(dropInSchema.safeParse({ custom }).error).toBeUndefined();
  expect(customSchema.safeParse(custom).error).toBeUndefined();
});
