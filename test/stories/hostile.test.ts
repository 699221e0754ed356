// Tests malicious requests and facts: each gets its answer, never a 500, and none makes a Node that the apiserver
// refuses for ever.
import { base64url, calculateJwkThumbprint, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import type { ReportOutcome } from "../../node-shim/worker-link/reporter.ts";
import { sha256Base64url, signEnrolment, signReport } from "../../node-shim/worker-link/sign.ts";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import { type Facts, factsSchema } from "../../shared/protocol/facts.ts";
import { canonicalJson } from "../../shared/protocol/digest.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import { JWT_TYPES } from "../../shared/protocol/claims.ts";
import { LIMITS } from "../../shared/protocol/limits.ts";
import type { Problem, ReportAnswer } from "../../shared/protocol/answers.ts";
import { type Report, reportSchema } from "../../shared/protocol/report.ts";
import { nameMatches } from "../../worker/identity/join-token.ts";
import { importPublicKey, verifyRequest } from "../../worker/identity/jwt.ts";
import { during } from "../worker/support/clock.ts";
import { kubeClient } from "../../worker/kube/kube-client.ts";
import { singleFlight } from "../../worker/paced.ts";
import { ORIGIN } from "../worker/support/constants.ts";
import { enrolmentBody, enrolmentPath, toSign } from "../worker/support/enrolling.ts";
import {
  type EnrolledMachine,
  enrolled,
  facts,
  HEALTHY,
  mintToken,
  requestsAbout,
  send,
  shimOf,
} from "../worker/support/machine.ts";
import { failure, success } from "../../shared/result.ts";

async function posted(machine: EnrolledMachine, body: string, ticket: string) {
  const { name, key, kid } = machine;
  const claims = { sub: name, aud: ORIGIN, body: sha256Base64url(body), ticket, n: 1 };
  const authorization = `Bearer ${await signReport(key, kid, claims)}`;
  const response = await send(`/v1/nodes/${name}/report`, {
    method: "POST",
    headers: { authorization },
    body,
  });
  return {
    status: response.status,
    headers: response.headers,
    body: await response.json<Problem & ReportAnswer>(),
  };
}

const reportWith = (reported: string, digest: string) =>
  `{"protocol":1,"startId":"s","machineTime":"2026-01-02T03:04:05Z","vitals":{"signals":{}},"factsDigest":"${digest}","facts":${reported}}`;

/** Returns the answer to a report whose facts are this text. */
async function answerTo(name: string, reported: string, digest = "A".repeat(43)) {
  const machine = await enrolled(name);
  const challenge = await posted(machine, reportWith("{}", digest), "");
  return posted(machine, reportWith(reported, digest), challenge.body.ticket);
}

describe("a JWT header whose kid is not a text", () => {
  it.each([[7], [{}], [["kid"]], [null], [true]])("of a report: %j → 401", async (kid) => {
    const key = await makeMachineKey();
    const jwt = await new SignJWT({}).setProtectedHeader({ alg: "EdDSA", kid } as never).sign(key.signing);
    const headers = { authorization: `Bearer ${jwt}` };
    expect((await send("/v1/nodes/kid-odd/report", { method: "POST", headers, body: "{}" })).status).toBe(
      401,
    );
  });

  it("of an enrolment's binding → 401", async () => {
    const name = "binding-odd";
    const key = await makeMachineKey();
    const { proof } = await signEnrolment(key, await mintToken(), await toSign(name, key));
    const header = { alg: "EdDSA", typ: JWT_TYPES.join, kid: { id: 1 } } as never;
    const binding = await new SignJWT({}).setProtectedHeader(header).sign(key.signing);
    const body = JSON.stringify({ protocol: 1, proof, binding });
    expect((await send(enrolmentPath(name), { method: "PUT", body })).status).toBe(401);
  });
});

describe("one spelling", () => {
  it.each(["%6eode", "node%2e1", "a%2Fb", "%zz", "%00"])("a name written %s → 400", async (name) => {
    const response = await send(`/v1/nodes/${name}/report`, { method: "POST", body: "{}" });
    expect([response.status, (await response.json<Problem>()).reason]).toEqual([400, "invalid-name"]);
  });

  it("of a machine's key: bits beyond its 32 bytes → 401", async () => {
    const key = await makeMachineKey();
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const { x } = key.publicJwk;
    const twin = x.slice(0, -1) + alphabet[alphabet.indexOf(x.at(-1)!) + 1];
    expect(base64url.decode(twin)).toEqual(base64url.decode(x));
    const name = "twin-key";
    const publicJwk = { ...key.publicJwk, x: twin };
    const twinKey = { ...key, publicJwk, thumbprint: await calculateJwkThumbprint(publicJwk) };
    const body = await enrolmentBody(name, { joinToken: await mintToken({ names: name }), key: twinKey });
    expect((await send(enrolmentPath(name), { method: "PUT", body })).status).toBe(401);
  });
});

describe("an audience", () => {
  it("counts for none of the Worker's origins if none is configured", async () => {
    const key = await makeMachineKey();
    const claims = { sub: "a", aud: ORIGIN, body: "b", ticket: "", n: 1 };
    const jwt = await signReport(key, "kid", claims);
    const publicKey = await importPublicKey(key.publicJwk.x);
    const expected = { action: "report" as const, name: "a", bodyDigest: "b", origins: [ORIGIN] };
    expect(await verifyRequest(jwt, publicKey, expected)).toMatchObject({ ok: true, value: { n: 1 } });
    expect(await verifyRequest(jwt, publicKey, { ...expected, origins: [] })).toMatchObject({ ok: false });
  });
});

describe("a body", () => {
  const chunked = (bytes: number) =>
    new ReadableStream({
      start(controller) {
        for (let sent = 0; sent < bytes; sent += 65_536) controller.enqueue(new Uint8Array(65_536).fill(32));
        controller.close();
      },
    });

  it.each(["/v1/nodes/chunks/report", "/v1/nodes/chunks/enrolment", "/v1/tokens"])(
    "in chunks, over the limit, to %s → 413",
    async (path) => {
      const method = path.endsWith("enrolment") ? "PUT" : "POST";
      const response = await send(path, { method, body: chunked(LIMITS.bodyBytes + 65_536) });
      expect(response.status).toBe(413);
    },
  );

  it("longer than its content-length → 413", async () => {
    const machine = await enrolled("lying-length");
    const body = " ".repeat(LIMITS.bodyBytes + 1);
    const claims = { sub: machine.name, aud: ORIGIN, body: sha256Base64url(body), ticket: "", n: 1 };
    const authorization = `Bearer ${await signReport(machine.key, machine.kid, claims)}`;
    const headers = { authorization, "content-length": "2" };
    const response = await send(`/v1/nodes/${machine.name}/report`, { method: "POST", headers, body });
    expect(response.status).toBe(413);
  });

  it("is answered by its content, and not cached", async () => {
    const { status, headers } = await answerTo("no-store", "{}");
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("content-type")).toContain("application/json");
  });

  it("with an unknown field → the path of that field, for any name", () => {
    const named = reportSchema.safeParse({ ...report(), "a/b~c": 1 });
    expect(named.success ? null : firstFault(named.error)).toEqual({
      path: "/a~1b~0c",
      message: "unknown field",
    });
    const long = reportSchema.safeParse({ ...report(), ["x".repeat(100_000)]: 1 });
    expect(long.success ? null : firstFault(long.error).path.length).toBe(LIMITS.textLength);
  });
});

function report(): Report {
  const factsDigest = "A".repeat(43);
  return { protocol: 1, startId: "s", machineTime: "2026-01-02T03:04:05Z", vitals: HEALTHY, factsDigest };
}

describe("facts → 200, and refused by name", () => {
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  it.each([
    ["nested deeper than a stack", deep],
    [
      "nested deep under a prototype",
      JSON.stringify(facts("x", { custom: {} })).replace('"custom":{}', `"custom":{"__proto__":${deep}}`),
    ],
    ["a number too large for one", JSON.stringify(facts("x")).replace('"cores":4', '"cores":1e999')],
    ["null", "null"],
  ])("%s", async (situation, reported) => {
    const { status, body } = await answerTo(`facts-${situation.replaceAll(" ", "-")}`, reported);
    expect({ status, phase: body.phase, path: body.factsRefused?.path.split("/")[1] }).toMatchObject({
      status: 200,
      phase: "facts refused",
      path: expect.stringMatching(/^facts/),
    });
  });

  it("a repeated key: the last counts, and __proto__ is not a key", async () => {
    const twice = JSON.stringify(facts("twice")).replace('"cores":4', '"cores":"x","cores":4');
    const { body } = await answerTo("twice", twice, sha256Base64url(canonicalJson(facts("twice"))));
    expect(body).toMatchObject({ phase: "registered", ready: true });
  });
});

describe("facts that every apiserver refuses → the path of the fault; just within the limit → none", () => {
  const { settings, machine, addresses } = facts("edge-1") as Required<Facts>;
  const taint = { key: "example.com/a", value: "b", effect: "NoSchedule" as const };
  const withTaints = (...registerWithTaints: object[]) => ({ settings: { ...settings, registerWithTaints } });

  it.each<[string, object, string | null]>([
    ["a hostname of 63 characters", { settings: { ...settings, hostname: "a".repeat(63) } }, null],
    [
      "a hostname of 64 characters",
      { settings: { ...settings, hostname: "a".repeat(64) } },
      "/settings/hostname",
    ],
    ["a hostname with a blank", { settings: { ...settings, hostname: "a b" } }, "/settings/hostname"],
    [
      "an architecture that is no label",
      { platform: { os: "linux", architecture: "a/b" } },
      "/platform/architecture",
    ],
    ["a taint", withTaints(taint), null],
    ["the same taint with another effect", withTaints(taint, { ...taint, effect: "NoExecute" }), null],
    ["the same taint twice", withTaints(taint, { ...taint, value: "c" }), "/settings/registerWithTaints"],
    [
      "a taint's key that is none",
      withTaints({ ...taint, key: "a b" }),
      "/settings/registerWithTaints/0/key",
    ],
    [
      "a taint's value that is none",
      withTaints({ ...taint, value: "a b" }),
      "/settings/registerWithTaints/0/value",
    ],
    [
      "2^53 − 1 bytes of huge pages, nearly",
      { machine: { ...machine, hugePages: [{ pageSizeKiB: 2 ** 20, pages: 2 ** 23 - 1 }] } },
      null,
    ],
    [
      "more bytes of huge pages",
      { machine: { ...machine, hugePages: [{ pageSizeKiB: 2 ** 20, pages: 2 ** 23 }] } },
      "/machine/hugePages/0",
    ],
    [
      "a device plugin's resource",
      { devices: { capacity: { "example.com/gpu": 1 }, allocatable: { "example.com/gpu": 1 }, removed: [] } },
      null,
    ],
    [
      "a device plugin's cpu",
      { devices: { capacity: { cpu: 1 }, allocatable: {}, removed: [] } },
      "/devices/capacity/cpu",
    ],
    [
      "a removed memory",
      { devices: { capacity: {}, allocatable: {}, removed: ["memory"] } },
      "/devices/removed/0",
    ],
    [
      "node IPs of both families",
      { addresses: { ...addresses, nodeIPs: ["10.0.0.1", "2001:db8::1"] } },
      null,
    ],
    [
      "a node IP twice",
      { addresses: { ...addresses, nodeIPs: ["10.0.0.1", "010.0.0.1"] } },
      "/addresses/nodeIPs",
    ],
    ["a node IP that is none", { addresses: { ...addresses, nodeIPs: ["localhost"] } }, "/addresses/nodeIPs"],
    ["half a surrogate pair", { versions: { kernel: "6", osImage: "\ud83d" } }, "/versions/osImage"],
    ["a NUL", { versions: { kernel: "6\u0000", osImage: "" } }, "/versions/kernel"],
    ["a whole pair", { versions: { kernel: "6", osImage: "\ud83d\ude00" } }, null],
  ])("%s", (_, more, path) => {
    const parsed = factsSchema.safeParse({ ...facts("edge-1"), ...more });
    expect(parsed.success ? null : firstFault(parsed.error).path).toBe(path);
  });
});

describe("texts are returned changed", () => {
  const answerOf = (outcome: ReportOutcome) => (outcome.ok ? outcome.value : outcome);

  it.each<[string, Partial<Facts>, object]>([
    ["half a surrogate pair in an error", {}, { errors: { runtime: ["cut here: \ud83d"] } }],
    ["NUL in an error", {}, { errors: { runtime: ["a\u0000b"] } }],
    ["empty texts", { versions: { kernel: "", osImage: "" }, runtime: { name: "", version: "" } }, {}],
    ["an image without names", { images: [{ repoDigests: [], repoTags: [], sizeBytes: 0 }] }, {}],
    [
      "a handler without a name",
      {
        runtimeHandlers: [
          { name: "", supportsRecursiveReadOnlyMounts: false, supportsUserNamespaces: false },
        ],
      },
      {},
    ],
    ["no features", { runtimeFeatures: { supplementalGroupsPolicy: false } }, {}],
    [
      "no devices",
      { devices: { capacity: { "example.com/a": 0 }, allocatable: { "example.com/a": 0 }, removed: [] } },
      {},
    ],
  ])("%s → the next heartbeat is one request", async (situation, more, vitals) => {
    const name = situation.replaceAll(/[^a-z]/gi, "-").toLowerCase();
    const report = shimOf(await enrolled(name));
    for (let reports = 0; reports < 2; reports++) {
      expect(answerOf(await report(facts(name, more), { ...HEALTHY, ...vitals }))).toMatchObject({
        phase: "registered",
      });
    }
    await requestsAbout(name);
    await report(facts(name, more), { ...HEALTHY, ...vitals });
    expect(await requestsAbout(name)).toHaveLength(1);
  });
});

describe("a join token's pattern", () => {
  it.each([
    ["a*a", "aa", true],
    ["a*a", "a", false],
    ["*-*-*", "a-b-c", true],
    ["*-*-*", "a-b", false],
    ["ab*ba", "aba", false],
    ["**", "", true],
    [`${"*a".repeat(120)}*b`, "a".repeat(250), false],
  ])("%s for %s → %s", (pattern, name, matches) => {
    expect(nameMatches(pattern, name)).toBe(matches);
  });
});

describe("the apiserver's client", () => {
  const connection = (fetch: () => Promise<Response>, nowMs = () => Date.now()) => ({
    fetch,
    url: "https://kube.test",
    token: () => "t",
    fieldManager: "rollcall.a&b",
    withinMs: 20,
    nowMs,
  });
  const LATE = failure({ kind: "unanswered", message: "no answer in time" });

  it("a request that never ends → no answer, in time", async () => {
    const client = kubeClient(connection(() => new Promise(() => undefined)));
    expect(await during(20, client.getNode("a"))).toEqual(LATE);
  });

  it("a body that never ends → no answer, in time", async () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([123])) });
    const client = kubeClient(connection(() => Promise.resolve(new Response(body))));
    expect(await during(20, client.getNode("a"))).toEqual(LATE);
  });

  it("after its deadline → sends nothing", async () => {
    let nowMs = 1000;
    let requests = 0;
    const fetch = () => Promise.resolve(new Response(String(++requests)));
    const client = kubeClient(connection(fetch, () => nowMs));
    nowMs += 20;
    expect(await client.getNode("a")).toEqual(LATE);
    expect(requests).toBe(0);
  });

  it("Retry-After is later than its deadline → returns the refusal", async () => {
    const status = { kind: "Status", code: 429, reason: "TooManyRequests" };
    const fetch = () =>
      Promise.resolve(Response.json(status, { status: 429, headers: { "retry-after": "1" } }));
    expect(await kubeClient(connection(fetch)).getNode("a")).toMatchObject({
      ok: false,
      error: { status: { code: 429 } },
    });
  });

  it("Retry-After is before its deadline → retries", async () => {
    const answers = [
      Response.json({ kind: "Status", code: 429 }, { status: 429, headers: { "retry-after": "1" } }),
      Response.json({ kind: "Node", metadata: { name: "a" } }),
    ];
    const client = kubeClient({ ...connection(() => Promise.resolve(answers.shift()!)), withinMs: 3000 });
    expect(await during(1000, client.getNode("a"))).toMatchObject(success({ metadata: { name: "a" } }));
  });
});

describe("one run at a time", () => {
  it("also for callers that arrive just when a run has ended", async () => {
    let running = 0;
    let most = 0;
    const run = singleFlight(async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
    });
    const calls = [run(), run()];
    for (let turn = 0; turn < 20; turn++) {
      await Promise.resolve();
      calls.push(run());
    }
    await Promise.all(calls);
    expect(most).toBe(1);
  });

  it("a run that fails fails its callers, and the next one starts", async () => {
    let runs = 0;
    const run = singleFlight(async () => {
      await Promise.resolve();
      if (++runs === 1) throw new Error("once");
      return runs;
    });
    expect(await Promise.allSettled([run(), run()])).toMatchObject([{ status: "rejected" }, { value: 2 }]);
  });
});
