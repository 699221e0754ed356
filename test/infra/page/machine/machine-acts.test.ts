import { expect, it, test } from "vitest";
import { ACT_NAMES, type ActName, MACHINE_ACTS } from "../../../../infra/page/machine/machine-acts.ts";
import { knownMachine } from "./made-up-machine.ts";

const refused = knownMachine({ key: { ...knownMachine().key, isRefused: true } });

test.each<[situation: string, node: ReturnType<typeof knownMachine>, possible: ActName[]]>([
  ["one that is well", knownMachine(), ["register", "runtime-none", "revoke", "forget"]],
  ["never reported", knownMachine({ phase: null, node: null }), ["runtime-none", "revoke", "forget"]],
  [
    "its Node was deleted",
    knownMachine({ phase: "node deleted", node: null }),
    ["register", "runtime-none", "revoke", "forget"],
  ],
  ["cloned", knownMachine({ phase: "cloned" }), ["register", "believe", "runtime-none", "revoke", "forget"]],
  [
    "two shims",
    knownMachine({ phase: "two shims" }),
    ["register", "believe", "runtime-none", "revoke", "forget"],
  ],
  ["needs no runtime", knownMachine({ runtime: "none" }), ["register", "runtime-auto", "revoke", "forget"]],
  ["revoked", refused, ["forget"]],
])("%s → %j can be done, and the others say why not", (_, node, possible) => {
  const reasons = ACT_NAMES.map((act) => [act, MACHINE_ACTS[act].whyNot(node)] as const);
  expect(reasons.filter(([, why]) => why === null).map(([act]) => act)).toEqual(possible);
  for (const [, why] of reasons) expect(why).not.toBe("");
});

it("each says what becomes of Node, lease, key and pods, and whether it can be undone", () => {
  for (const act of ACT_NAMES) {
    const { effects, undo } = MACHINE_ACTS[act];
    expect(effects.map(([thing]) => thing)).toEqual(expect.arrayContaining(["Node", "Lease", "Key", "Pods"]));
    expect(undo).not.toBe("");
  }
});

it("the requests are those of the command line; what cannot be undone is red, and asks for the name", () => {
  const said = ACT_NAMES.map((act) => {
    const { request, isDangerous, mustTypeName } = MACHINE_ACTS[act];
    return [
      act,
      `${request.method} ${request.path} ${JSON.stringify(request.body ?? "")}`,
      isDangerous === true,
      mustTypeName === true,
    ];
  });
  expect(said).toEqual([
    ["register", 'POST /register ""', false, false],
    ["believe", 'POST /believe ""', false, false],
    ["runtime-none", 'PATCH  {"runtime":"none"}', false, false],
    ["runtime-auto", 'PATCH  {"runtime":"auto"}', false, false],
    ["revoke", 'POST /revoke ""', true, true],
    ["forget", 'DELETE  ""', true, true],
  ]);
});
