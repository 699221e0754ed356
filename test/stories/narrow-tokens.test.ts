// Tests which claims of a machine its Node has: by the narrow default of a join token, by its wider limits, and by a
// token whose request did not decide on limits.
import { expect, it, test } from "vitest";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type {
  HistoryAnswer,
  ListedToken,
  MintedToken,
  WholeNode,
} from "../../shared/protocol/operator-answers.ts";
import { eventually } from "../worker/support/clock.ts";
import { enrolling, facts, HEALTHY, kube, operator, shimOf } from "../worker/support/machine.ts";

const NARROW = { mayAll: false };
const INSTANCE = "node.kubernetes.io/instance-type";
const PUBLIC = "203.0.113.7";

/** The claims of the machine that exceed the narrow default, as the Worker names them. */
const CLAIMS = [
  `address ${PUBLIC}`,
  "condition RaidDegraded",
  "label example.com/rack",
  `label ${INSTANCE}`,
  "label tier",
  "provider ID aws:///eu-west-1a/i-0",
  "resource example.com/fpga",
  "taint example.com/spot",
];

function claiming(name: string): Facts {
  const plain = facts(name);
  return {
    ...plain,
    settings: {
      ...plain.settings,
      nodeLabels: { tier: "front", [INSTANCE]: "m6g.large" },
      registerWithTaints: [{ key: "example.com/spot", effect: "NoSchedule" }],
      providerID: "aws:///eu-west-1a/i-0",
    },
    addresses: { ...plain.addresses!, nodeIPs: [PUBLIC, "fd00::5"], onInterface: [PUBLIC, "fd00::5"] },
    dropIns: {
      resources: { "example.com/fpga": 2 },
      labels: { "example.com/rack": "b7" },
      conditions: [
        { type: "RaidDegraded", status: "False", reason: "AllMembers", message: "", expiresInSeconds: 300 },
      ],
      working: 1,
      failures: [],
    },
  };
}

async function minted(wish: object): Promise<MintedToken> {
  const body = { names: "narrow-*", uses: 9, expiresInSeconds: 60, ...wish };
  const answer = await operator<MintedToken>("POST", "/v1/tokens", body);
  expect(answer.status).toBe(201);
  return answer.body;
}

/** Enrols a machine with this token, and reports its claims twice. Returns the second answer's message. */
async function reports(name: string, { token }: MintedToken): Promise<string | undefined> {
  const key = await makeMachineKey();
  const enrolled = await enrolling(name, { joinToken: token, key });
  if (!("kid" in enrolled)) throw new Error(enrolled.reason);
  const report = shimOf({ name, key, kid: enrolled.kid });
  const vitals = { ...HEALTHY, remainingSeconds: { RaidDegraded: 300 } };
  await report(claiming(name), vitals);
  const answer = await report(claiming(name), vitals);
  expect(answer).toMatchObject({ value: { phase: "registered", ready: true } });
  return answer.ok ? answer.value.message : undefined;
}

/** Returns the claims that the Node has. */
async function had(name: string): Promise<string[]> {
  const { metadata, spec, status } = await kube("GET", `/api/v1/nodes/${name}`);
  const labels: Record<string, string> = { ...metadata?.labels };
  const has: Record<string, boolean> = {
    [`address ${PUBLIC}`]: status?.addresses?.some(({ address }) => address === PUBLIC) ?? false,
    "condition RaidDegraded": status?.conditions?.some(({ type }) => type === "RaidDegraded") ?? false,
    "label example.com/rack": labels["example.com/rack"] === "b7",
    "label tier": labels["tier"] === "front",
    [`label ${INSTANCE}`]: labels[INSTANCE] === "m6g.large",
    "provider ID aws:///eu-west-1a/i-0": spec?.providerID !== undefined,
    "resource example.com/fpga": status?.capacity?.["example.com/fpga"] !== undefined,
    "taint example.com/spot": spec?.taints?.some(({ key }) => key === "example.com/spot") ?? false,
  };
  return CLAIMS.filter((claim) => has[claim]);
}

const except = (...claims: string[]) => CLAIMS.filter((each) => !claims.some((part) => each.includes(part)));

test.each<[token: string, wish: object, left: string[]]>([
  ["default", NARROW, CLAIMS],
  ["with its own labels", { ...NARROW, labels: { tier: "front" } }, except("tier")],
  ["that allows one label", { ...NARROW, mayLabel: ["tier"] }, except("tier")],
  ["that allows one taint", { ...NARROW, mayTaint: ["example.com/*"] }, except("taint")],
  ["that allows one condition", { ...NARROW, mayCondition: ["Raid*"] }, except("condition")],
  ["that allows one resource", { ...NARROW, mayResource: ["example.com/fpga"] }, except("resource")],
  ["that allows one range", { ...NARROW, mayAddress: ["203.0.113.0/24", "fd00::/8"] }, except("address")],
  ["that allows all addresses", { ...NARROW, mayAddress: ["*"] }, except("address")],
  ["that allows one cloud", { ...NARROW, mayCloud: ["aws:*"] }, except("provider")],
  ["that allows to replace the taint", { ...NARROW, withoutFactsOnlyTaint: true }, except("taint")],
  ["with mayAll", { mayAll: true }, []],
  [
    "with mayAll and a limit",
    { mayAll: true, mayLabel: [] },
    CLAIMS.filter((each) => each.startsWith("label")),
  ],
  ["without mayAll", {}, []],
  ["without mayAll, with a limit", { mayCloud: [] }, ["provider ID aws:///eu-west-1a/i-0"]],
])(
  "a token %s → the Node lacks only what the token does not allow, and all of that is named",
  async (token, wish, left) => {
    const name = `narrow-${token.replaceAll(/[^a-z]+/gi, "-").toLowerCase()}`;
    const message = await reports(name, await minted(wish));
    expect(await had(name)).toEqual(except(...left));
    const expected = left.length === 0 ? undefined : `left out of its Node: ${left.join(", ")}`;
    const named = (text?: string) => text?.split(/: |, /).toSorted();
    expect(named(message)).toEqual(named(expected));
  },
);

it("the default → the machine's hardware and private address; history and the operator's answer name the rest", async () => {
  const name = "narrow-named";
  await reports(name, await minted(NARROW));
  const { status } = await kube("GET", `/api/v1/nodes/${name}`);
  expect(status?.addresses).toEqual([
    { type: "InternalIP", address: "fd00::5" },
    { type: "Hostname", address: name },
  ]);
  const hardware = ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "pods"];
  expect(Object.keys(status?.capacity ?? {}).toSorted()).toEqual(hardware.toSorted());
  const left = new RegExp(`^left out of its Node: ${CLAIMS.map((claim) => `(?=.*${claim})`).join("")}`);
  const history = await operator<HistoryAnswer>("GET", `/v1/nodes/${name}/history?kind=registration`);
  expect(history.body.entries.map(({ text }) => text)).toContainEqual(expect.stringMatching(left));
  await eventually(async () => {
    const { body } = await operator<WholeNode>("GET", `/v1/nodes/${name}`);
    expect(body.summary?.withheld).toMatch(left);
  });
});

test.each<[string, object, boolean]>([
  ["no mayAll", {}, true],
  ["no mayAll and some limits", { mayLabel: [], mayAddress: ["10.0.0.0/8"] }, true],
  [
    "no mayAll and all lists",
    { mayLabel: [], mayTaint: [], mayCondition: [], mayResource: [], mayCloud: [], mayAddress: [] },
    false,
  ],
  ["mayAll false", { mayAll: false }, false],
  ["mayAll true", { mayAll: true }, false],
])("a request with %s → the answer and the list have a note: %o → %s", async (_, wish, hasNote) => {
  const { id, note } = await minted(wish);
  const { body } = await operator<{ tokens: ListedToken[] }>("GET", "/v1/tokens");
  expect(note !== undefined).toBe(hasNote);
  expect(body.tokens.find((token) => token.id === id)?.note).toBe(note);
  if (hasNote)
    expect(note).toMatch(/^an absent may field allows all values, since the request had no mayAll; /);
});
