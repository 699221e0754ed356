// Tests the table of docs/protocol.md: the answer to each report, and what the report changes.
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { base64url, SignJWT } from "jose";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { sha256Base64url, signReport } from "../../../node-shim/worker-link/sign.ts";
import { canonicalJson } from "../../../shared/protocol/digest.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { GATEWAY_LIMITS, LIMITS } from "../../../shared/protocol/limits.ts";
import type { Problem, ReportAnswer } from "../../../shared/protocol/answers.ts";
import { failure, success } from "../../../shared/result.ts";
import { type Environment, registry } from "../../../worker/env.ts";
import { isConnectTicket } from "../../../worker/identity/issued.ts";
import { parseMacKeys } from "../../../worker/identity/mac-keys.ts";
import worker from "../../../worker/index.ts";
import { KEY_REVOKED, type MachineAnswer, type ReportReply } from "../../../worker/machine/answers.ts";
import type { SignedRequest } from "../../../worker/machine/pinned-keys.ts";
import type { AdmissionRequest } from "../../../worker/registry/admission.ts";
import { currentMs, passing } from "../support/clock.ts";
import { kidOf } from "../support/connecting.ts";
import { ORIGIN } from "../support/constants.ts";
import {
  type EnrolledMachine,
  enrolled,
  enrolling,
  facts,
  mintToken,
  send,
  setFault,
} from "../support/machine.ts";
import { enrolmentBody, enrolmentPath } from "../support/enrolling.ts";
import { reportHeaders, reportOf } from "../support/posting.ts";

interface Posting {
  body?: string;
  ticket?: string;
  n?: number;
  claims?: Record<string, unknown>;
  kid?: string;
  path?: string;
  authorization?: string | null;
}

async function post(machine: EnrolledMachine, posting: Posting = {}) {
  const { name, key, kid } = machine;
  const body = posting.body ?? JSON.stringify(reportOf(name));
  const claims = {
    sub: name,
    aud: ORIGIN,
    body: sha256Base64url(body),
    ticket: posting.ticket ?? "",
    n: posting.n ?? 1,
  };
  const jwt = await signReport(key, posting.kid ?? kid, { ...claims, ...posting.claims });
  const headers =
    posting.authorization === null ? {} : { authorization: posting.authorization ?? `Bearer ${jwt}` };
  const response = await send(posting.path ?? `/v1/nodes/${name}/report`, { method: "POST", headers, body });
  return { status: response.status, body: await response.json<Problem & ReportAnswer>() };
}

/** Returns an enrolled machine with the ticket of a challenge. */
async function challenged(name: string): Promise<{ machine: EnrolledMachine; ticket: string }> {
  const machine = await enrolled(name);
  const { body } = await post(machine);
  return { machine, ticket: body.ticket };
}

describe("a report without a valid proof → 401, without detail", () => {
  it.each<[string, (machine: EnrolledMachine) => Posting]>([
    ["no authorization", () => ({ authorization: null })],
    ["not a JWT", () => ({ authorization: "Bearer nonsense" })],
    ["no kid that this Worker made", () => ({ kid: "2.thumbprint.enrolment.mac" })],
    [
      "a kid with another MAC",
      ({ kid }) => ({ kid: `${kid.slice(0, -2)}${kid.endsWith("A") ? "B" : "A"}A` }),
    ],
    ["another name's path", () => ({ path: "/v1/nodes/another-node/report" })],
    ["a node that never enrolled", () => ({ path: "/v1/nodes/never-enrolled/report" })],
    ["several audiences", () => ({ claims: { aud: ["https://evil.test", "https://evil-2.test"] } })],
    ["no audience", () => ({ claims: { aud: undefined } })],
    ["another body's digest", () => ({ claims: { body: base64url.encode(new Uint8Array(32)) } })],
    ["another subject", () => ({ claims: { sub: "another-node" } })],
    ["no n", () => ({ claims: { n: undefined } })],
    ["n of 0", () => ({ claims: { n: 0 } })],
    ["a ticket that is no text", () => ({ claims: { ticket: 7 } })],
  ])("%s", async (situation, posting) => {
    const machine = await enrolled(`proves-${situation.replaceAll(/[^a-z0-9]/gi, "-").toLowerCase()}`);
    const { status, body } = await post(machine, posting(machine));
    expect({ status, reason: body.reason, ticket: body.ticket }).toEqual({
      status: 401,
      reason: "unauthenticated",
      ticket: undefined,
    });
  });

  it("signed by another machine's key", async () => {
    const machine = await enrolled("signed-by-another");
    const other = await enrolled("another-machine");
    expect((await post({ ...machine, key: other.key })).status).toBe(401);
  });
});

describe("a report that is signed for another origin → 401 with that reason, and without the Worker's own origins", () => {
  const FOR_ANOTHER = { claims: { aud: "https://before.test" } };

  it("by the machine's key → wrong-origin, and its own ticket stays valid", async () => {
    const { machine, ticket } = await challenged("wrong-origin");
    const { status, body } = await post(machine, { ...FOR_ANOTHER, ticket });
    expect({ status, reason: body.reason, ticket: body.ticket }).toEqual({
      status: 401,
      reason: "wrong-origin",
      ticket: undefined,
    });
    expect(JSON.stringify(body)).not.toContain("rollcall.test");
    expect((await post(machine, { ticket })).status).toBe(200);
  });

  it("by another key → unauthenticated: only the key's owner learns the reason", async () => {
    const machine = await enrolled("wrong-origin-thief");
    const { body } = await post({ ...machine, key: await makeMachineKey() }, FOR_ANOTHER);
    expect(body.reason).toBe("unauthenticated");
  });
});

it.each([
  ["that knows no challenges", { aud: ORIGIN }],
  ["that knows neither challenges nor origins", {}],
])("an enrolment by a shim %s → 400 shim-too-old, with the remedy", async (_, audience) => {
  const name = "shim-too-old";
  const { signing, publicJwk, thumbprint: jkt } = await makeMachineKey();
  const path = `/v1/nodes/${name}/enrolment`;
  const claims = { sub: name, ...audience, method: "PUT", path, jkt, machineID: name, systemUUID: name };
  const header = { alg: "EdDSA", typ: "rollcall-enrol+jwt", jwk: publicJwk };
  const proof = await new SignJWT(claims).setProtectedHeader(header).sign(signing);
  const body = JSON.stringify({ protocol: 1, proof, binding: proof });
  const response = await send(path, { method: "PUT", headers: { "content-type": "application/json" }, body });
  expect([response.status, await response.json()]).toEqual([
    400,
    expect.objectContaining({ reason: "shim-too-old", detail: expect.stringContaining("Upgrade it") }),
  ]);
});

it.each(["report", "rotate", "leave", "upgrade"])(
  "a request to %s without a signature → 401",
  async (what) => {
    const response = await send(`/v1/nodes/signed-by-nobody/${what}`, { method: "POST", body: "{}" });
    expect([response.status, await response.json()]).toEqual([
      401,
      expect.objectContaining({ reason: "unauthenticated" }),
    ]);
  },
);

it("a report with a valid kid and another key's signature → counts as a failed attempt of its address", async () => {
  const machine = await enrolled("counted-signature");
  const body = JSON.stringify(reportOf(machine.name));
  const headers = await reportHeaders({ ...machine, key: await makeMachineKey() }, body);
  const limit = vi.fn(() => Promise.resolve({ success: true }));
  const request = new Request(`${ORIGIN}/v1/nodes/${machine.name}/report`, {
    method: "POST",
    headers: { ...headers, "cf-connecting-ip": "192.0.2.79" },
    body,
  });
  const environment = { ...env, FAILURES: { limit } };
  expect((await worker.fetch(request, environment, createExecutionContext())).status).toBe(401);
  expect(limit.mock.calls).toEqual([[{ key: "192.0.2.79" }]]);
});

describe("a ticket", () => {
  it("absent → 409 with one, and nothing is applied", async () => {
    const { status, body } = await post(await enrolled("ticket-none"));
    expect(status).toBe(409);
    expect(body).toMatchObject({
      reason: "ticket-stale",
      factsWanted: true,
      ticket: expect.stringMatching(/^[\w-]{22}$/),
    });
  });

  it("of the last answer → 200, and another ticket", async () => {
    const { machine, ticket } = await challenged("ticket-good");
    const { status, body } = await post(machine, { ticket });
    expect(status).toBe(200);
    expect(body.ticket).not.toBe(ticket);
  });

  it("the same with the same n and body → the same answer", async () => {
    const { machine, ticket } = await challenged("ticket-same");
    const first = await post(machine, { ticket });
    expect(await post(machine, { ticket })).toEqual(first);
  });

  it("the same with the same n and another body → 409", async () => {
    const { machine, ticket } = await challenged("ticket-other-body");
    await post(machine, { ticket });
    const body = JSON.stringify(reportOf(machine.name, { machineTime: "2026-01-02T03:04:06Z" }));
    expect((await post(machine, { ticket, body })).status).toBe(409);
  });

  it("the one before the last, with a higher n → 200, since an answer may be lost", async () => {
    const { machine, ticket } = await challenged("ticket-lost-answer");
    await post(machine, { ticket });
    expect((await post(machine, { ticket, n: 2 })).status).toBe(200);
  });

  it("the one before the last, once the last was used → 409", async () => {
    const { machine, ticket } = await challenged("ticket-superseded");
    const { body } = await post(machine, { ticket });
    await post(machine, { ticket: body.ticket });
    expect((await post(machine, { ticket, n: 2 })).status).toBe(409);
  });

  it("of a recorded and replayed report → 409, and the machine's own ticket stays valid", async () => {
    const { machine, ticket } = await challenged("ticket-replay");
    const { body } = await post(machine, { ticket });
    for (let replays = 0; replays < 5; replays++) await post(machine, { ticket: "a stale one" });
    expect((await post(machine, { ticket: body.ticket })).status).toBe(200);
  });
});

describe("a body", () => {
  const withBody = async (name: string, body: string) => {
    const { machine, ticket } = await challenged(name);
    return post(machine, { ticket, body });
  };

  it("not JSON → 400", async () => {
    expect(await withBody("body-not-json", "{")).toMatchObject({
      status: 400,
      body: { reason: "invalid-json" },
    });
  });

  it("not UTF-8 or not the schema → 400 with the path of the first fault", async () => {
    const report = reportOf("body-schema", { vitals: { signals: { "memory.available": [-1, 8] } } });
    const { status, body } = await withBody("body-schema", JSON.stringify(report));
    expect({ status, reason: body.reason, pointer: body.pointer }).toEqual({
      status: 400,
      reason: "invalid-body",
      pointer: "/vitals/signals/memory.available/0",
    });
  });

  it("an unknown field → 400", async () => {
    const { status } = await withBody(
      "body-unknown",
      JSON.stringify({ ...reportOf("body-unknown"), more: 1 }),
    );
    expect(status).toBe(400);
  });

  it("of the largest size → read; one byte more → 413", async () => {
    const { machine, ticket } = await challenged("body-limit");
    const body = JSON.stringify(reportOf(machine.name));
    const atLimit = body.padEnd(LIMITS.bodyBytes, " ");
    expect((await post(machine, { ticket, body: atLimit })).status).toBe(200);
    expect(await post(machine, { ticket, n: 2, body: `${atLimit} ` })).toMatchObject({
      status: 413,
      body: { reason: "body-too-large" },
    });
  });
});

describe("facts", () => {
  it("unknown and absent → 412 with a ticket", async () => {
    const { machine, ticket } = await challenged("facts-absent");
    const { facts: _, ...vitalsOnly } = reportOf(machine.name);
    const { status, body } = await post(machine, { ticket, body: JSON.stringify(vitalsOnly) });
    expect({ status, reason: body.reason }).toEqual({ status: 412, reason: "facts-unknown" });
    expect((await post(machine, { ticket: body.ticket })).status).toBe(200);
  });

  it("known → a report with vitals only is accepted", async () => {
    const { machine, ticket } = await challenged("facts-known");
    const first = await post(machine, { ticket });
    const { facts: _, ...vitalsOnly } = reportOf(machine.name);
    const body = JSON.stringify(vitalsOnly);
    expect(await post(machine, { ticket: first.body.ticket, body })).toMatchObject({
      status: 200,
      body: { ready: true },
    });
  });

  it("refused → named in the answer, and the last valid ones stay", async () => {
    const { machine, ticket } = await challenged("facts-refused");
    const first = await post(machine, { ticket });
    const bad = { ...facts(machine.name), machine: { cores: -1 } };
    const digest = sha256Base64url(canonicalJson(bad));
    const body = JSON.stringify(reportOf(machine.name, { facts: bad, factsDigest: digest }));
    const { status, body: answer } = await post(machine, { ticket: first.body.ticket, body });
    expect(status).toBe(200);
    expect(answer).toMatchObject({
      phase: "registered",
      ready: true,
      factsRefused: { path: expect.stringMatching(/^\/facts\/machine\//) },
    });
    // The group that was left out keeps its last values.
    const kept = (await env.NODES.getByName(machine.name).show())?.facts as Facts | null;
    expect(kept?.machine).toEqual(facts(machine.name).machine);
    // Returns the fault of the refused facts in the operators' view. The view shows the fault until valid facts arrive.
    const shown = async () => (await env.NODES.getByName(machine.name).show())?.factsRefused;
    expect(await shown()).toEqual(answer.factsRefused);
    await post(machine, { ticket: answer.ticket });
    expect(await shown()).toBe(undefined);
  });

  it("with another digest → refused", async () => {
    const { machine, ticket } = await challenged("facts-digest");
    const body = JSON.stringify(reportOf(machine.name, { factsDigest: "A".repeat(43) }));
    const { body: answer } = await post(machine, { ticket, body });
    expect(answer).toMatchObject({ phase: "facts refused", factsRefused: { path: "/factsDigest" } });
  });
});

describe("the apiserver fails: the machine's answer has its message", () => {
  const SAYS = "etcd at 10.0.0.7 is read-only";

  it.each([
    ["the Node", "^(GET|POST) /api/v1/nodes"],
    ["the lease", "leases"],
    ["the status", "^PATCH /api/v1/nodes"],
  ])("about %s → is not in the machine's answer, which has a phase alone", async (what, of) => {
    const name = `says-${what.replace(" ", "-").toLowerCase()}`;
    const { machine, ticket } = await challenged(name);
    await setFault(name, { kind: "status", code: 403, message: SAYS, of });
    const { status, body } = await post(machine, { ticket });
    expect(status).toBe(200);
    expect(Object.keys(body).toSorted()).toEqual(["phase", "ready", "reportInMs", "ticket"]);
    expect(JSON.stringify(body)).not.toContain(SAYS);
  });
});

describe("an enrolment", () => {
  it("of a machine whose name got another pin meanwhile → no kid, and no data of the other machine", async () => {
    const name = "enrolled-too-late";
    const pin = {
      name,
      thumbprint: "another",
      nextThumbprint: null,
      generation: Number.MAX_SAFE_INTEGER,
      token: "t",
      machine: { key: "x", machineID: "m-2", systemUUID: "s-2", address: "" },
      pinnedAtMs: 0,
      reportedAtMs: null,
      revokedAtMs: null,
      grant: { withoutFactsOnlyTaint: false },
    };
    // The node object gets a newer pin than the pin that the registry will issue.
    await env.NODES.getByName(name).enrol(pin);
    const outcome = await enrolling(name, {
      joinToken: await mintToken({ names: name }),
      key: await makeMachineKey(),
    });
    expect(outcome).toEqual({ reason: "token-refused", status: 401 });
  });
});

describe("a socket", () => {
  const ANSWERED: ReportReply = { phase: "registered", ready: true, ticket: "t", reportInMs: 1000 };
  const NAME = "socket-told";

  /**
   * Returns the machine's answer if the node object returns `answer`, and the requests that the node object got.
   */
  async function told(answer: MachineAnswer, header: string | null, more: Partial<typeof env> = {}) {
    const asked: SignedRequest[] = [];
    const report = (request: SignedRequest) => {
      asked.push(request);
      return Promise.resolve(answer);
    };
    const NODES = { getByName: () => ({ report }) };
    const key = await makeMachineKey();
    const kid = await kidOf(NAME, key);
    const body = JSON.stringify(reportOf(NAME));
    const headers = {
      ...(await reportHeaders({ name: NAME, key, kid }, body)),
      ...(header !== null && { "rollcall-transport": header }),
    };
    const request = new Request(`${ORIGIN}/v1/nodes/${NAME}/report`, { method: "POST", headers, body });
    const environment = { ...env, ...more, NODES } as unknown as Environment;
    const response = await worker.fetch(request, environment, createExecutionContext());
    return { answer: await response.json<ReportAnswer & Problem>(), wants: asked[0]?.wantsSocket, kid };
  }

  it("requested and allowed → its path, its ticket, which is valid there only, and the time to connect", async () => {
    const { answer, wants, kid } = await told(success({ ...ANSWERED, gateway: 7 }), "socket");
    const { socket, ...rest } = answer;
    expect([rest, wants]).toEqual([ANSWERED, true]);
    expect(socket?.withinMs).toBe(GATEWAY_LIMITS.comeBackMs);
    const [path, ticket = ""] = socket?.path.split("?t=") ?? [];
    expect(path).toBe(`/v1/gateways/7/nodes/${NAME}`);
    const isGood = (gateway: number) =>
      isConnectTicket(parseMacKeys(env.KID_MAC_KEYS), { name: NAME, kid, gateway }, ticket, Date.now());
    expect([await isGood(7), await isGood(8)]).toEqual([true, false]);
  });

  it.each<[situation: string, header: string | null, value: ReportReply]>([
    ["not asked for", null, { ...ANSWERED, gateway: 7 }],
    ["asked for in another way", "Socket", { ...ANSWERED, gateway: 7 }],
    ["asked for, where there is none", "socket", ANSWERED],
  ])("that is %s → nothing is said of one, nor of a gateway", async (_, header, value) => {
    const { answer, wants } = await told(success(value), header);
    expect(answer).toEqual(ANSWERED);
    expect(wants).toBe(header === "socket" ? true : undefined);
  });

  it("requested with a refused report → the refusal", async () => {
    expect((await told(KEY_REVOKED, "socket")).answer.reason).toBe("key-revoked");
  });

  it("with a MAC key whose ID has special characters of URLs → the path is valid", async () => {
    const KID_MAC_KEYS = `a&b#c:${"A".repeat(43)} ${env.KID_MAC_KEYS}`;
    const { answer, kid } = await told(success({ ...ANSWERED, gateway: 7 }), "socket", { KID_MAC_KEYS });
    const ticket = new URL(ORIGIN + answer.socket?.path).searchParams.get("t") ?? "";
    expect(ticket).toContain(".a&b#c.");
    const connecting = { name: NAME, kid, gateway: 7 };
    expect(await isConnectTicket(parseMacKeys(KID_MAC_KEYS), connecting, ticket, Date.now())).toBe(true);
  });
});

describe("a busy Worker", () => {
  const until = (ms: number) => ({ "rollcall-until": String(Date.now() + ms) });

  it("and a machine that soon gives up → 503 with a spread Retry-After, before any check; the answer has the time", async () => {
    const waits = new Set<string | null>();
    for (let requests = 0; requests < 40; requests++) {
      const init = { method: "POST", body: "{}", headers: until(4000) };
      const response = await send("/v1/nodes/gives-up-soon/report", init);
      expect([response.status, await response.json()]).toEqual([
        503,
        expect.objectContaining({ reason: "busy" }),
      ]);
      expect(Math.abs(Number(response.headers.get("rollcall-time")) - Date.now())).toBeLessThan(5000);
      waits.add(response.headers.get("retry-after"));
    }
    const seconds = [...waits].map(Number);
    expect(Math.min(...seconds)).toBeGreaterThanOrEqual(3);
    expect(Math.max(...seconds)).toBeLessThanOrEqual(10);
    expect(seconds.length).toBeGreaterThan(3);
  });

  it("and a machine that waits long enough → the usual answer", async () => {
    const init = { method: "POST", body: "{}", headers: until(9000) };
    expect((await send("/v1/nodes/waits-long/report", init)).status).toBe(401);
  });

  it.each([
    ["eight seconds ahead → enrolled at its turn", 8, 8000, 200, 2],
    ["nine seconds ahead → 503 after eight seconds", 9, 8000, 503, 1],
  ])("and a shim that sends no time, whose turn is %s", async (_, waitSeconds, tookMs, status, times) => {
    const turn = failure({ reason: "not its turn", waitSeconds, detail: "Ahead." } as const);
    const real = registry(env);
    let admissions = 0;
    const admit = (asking: AdmissionRequest) =>
      ++admissions === 1 ? Promise.resolve(turn) : real.admit(asking);
    const name = `waits-${waitSeconds}`;
    const key = await makeMachineKey();
    const body = await enrolmentBody(name, { joinToken: await mintToken(), key });
    const headers = { "content-type": "application/json" };
    const request = new Request(ORIGIN + enrolmentPath(name), { method: "PUT", headers, body });
    const beganMs = currentMs();
    const REGISTRY = { getByName: () => ({ admit }) };
    const response = await passing(
      Promise.resolve(worker.fetch(request, { ...env, REGISTRY }, createExecutionContext())),
    );
    expect([response.status, currentMs() - beganMs, admissions]).toEqual([status, tookMs, times]);
  });

  it.each([
    ["in time → the usual answer", 10_000, "unauthenticated"],
    ["too late → refused before its signature is checked", -1, "busy"],
  ])("and a report that reaches the machine's object %s", async (_, leftMs, reason) => {
    const request = { name: "queued", kid: "k", token: "t", body: new Uint8Array(), address: "" };
    const answer = await env.NODES.getByName("queued").report({ ...request, untilMs: Date.now() + leftMs });
    expect(answer).toMatchObject({ ok: false, error: { reason } });
  });

  it("and an enrolment that reaches the registry too late → refused before the token is looked up", async () => {
    const asked = { untilMs: Date.now() - 1, binding: "" } as unknown as AdmissionRequest;
    const admitted = await env.REGISTRY.getByName("queued").admit({
      ...asked,
      machine: { thumbprint: "t" } as never,
    });
    expect(admitted).toEqual(failure({ reason: "too late" }));
  });
});
