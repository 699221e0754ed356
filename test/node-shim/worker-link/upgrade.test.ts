// Tests sockets through proxies and with an operator's authorities, like HTTP, and through proxies that break
// sockets. The Worker behind the proxies has TLS and a gateway, and a name that only the proxy can resolve.
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { authorities, type Outbound } from "../../../node-shim/worker-link/outbound.ts";
import { proxyTo } from "../../../node-shim/worker-link/proxy.ts";
import { openSocket } from "../../../node-shim/worker-link/upgrade.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { eventually } from "../base/eventually.ts";
import { type Asked, connectProxy, type Pems, selfSigned, WORKER_NAME } from "./connect-proxy.ts";
import { type Behaviour, fakeGateway, type FakeGateway } from "./fake-gateway.ts";
import { linkedMachine, type LinkedMachine } from "./linked-machine.ts";
import { heldTimers } from "../base/timers.ts";

let folder: { path: string; remove: () => void };
let pems: Pems;
let caFile: string;
beforeAll(async () => {
  folder = temporaryFolder();
  pems = await selfSigned(WORKER_NAME);
  caFile = join(folder.path, "ca.pem");
  writeFileSync(caFile, pems.cert);
});
afterAll(() => folder.remove());

let closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.toReversed()) close();
  closing = [];
});

/** Makes a machine behind a proxy, and the Worker. */
async function behind(onConnect: (asked: Asked) => void, behaviour: Partial<Behaviour> = {}) {
  const gateway = await fakeGateway(behaviour, pems);
  const proxy = await connectProxy(onConnect);
  const origin = `https://${WORKER_NAME}:${gateway.port}`;
  const outbound: Outbound = {
    proxy: proxyTo(origin, { HTTPS_PROXY: `http://edge:Secret@127.0.0.1:${proxy.port}` }),
    trust: authorities(caFile, {}),
  };
  const edge = await linkedMachine(gateway, { origin, outbound });
  closing.push(gateway.close, proxy.close, edge.close);
  return { gateway, proxy, edge };
}

const PATH = "/v1/gateways/7/nodes/edge-1?t=1";
const nothing = () => undefined;
const NOTHING = { asked: nothing, answered: nothing, accepted: nothing, ended: nothing };

/** Returns what an upgrade needs of a machine. */
async function asMachine(origin: string, outbound: Outbound, { clock }: LinkedMachine) {
  const machine = { name: "edge-1", origin, key: await makeMachineKey(), kid: "k" };
  return { machine, outbound, deadlineMs: 9000, patienceMs: 9000, clock, random: Math.random };
}

/** Reports once by HTTP. Waits until the link has a result for the socket that it opens afterwards. */
async function attempt({ report, clock, seen, link }: LinkedMachine): Promise<void> {
  const before = seen.length;
  await report();
  await clock.pass(5000);
  await eventually(() => seen.length > before || link.socket() !== null).toBe(true);
}

const upgrades = ({ log }: FakeGateway) => log.filter((line) => line.startsWith("upgrade")).length;

/** Expects that reports continue by HTTP alone after three failures. */
async function expectHttpAlone(gateway: FakeGateway, edge: LinkedMachine): Promise<void> {
  expect(edge.seen.at(-1)).toMatchObject({ via: "http", againInMs: 600_000 });
  const before = upgrades(gateway);
  for (let reports = 0; reports < 3; reports++) {
    expect(await edge.report()).toMatchObject({ ok: true });
    await edge.clock.pass(9600);
  }
  expect(upgrades(gateway)).toBe(before);
  expect(gateway.log.at(-1)).toBe("http");
}

describe("a proxy that opens the way", () => {
  it("TLS with the Worker inside, by the authorities of --ca-file; HTTP's own tunnel is closed", async () => {
    const { gateway, proxy, edge } = await behind(({ join }) => join());
    await attempt(edge);
    await edge.report();
    await edge.report();
    expect(gateway.log).toEqual(["http wanted +facts", "upgrade t=1", "report", "beat 1"]);
    const target = `${WORKER_NAME}:${gateway.port}`;
    expect(proxy.asked.map(({ target }) => target)).toEqual([target, target]);
    expect(proxy.asked.every(({ head }) => head.includes("proxy-authorization: Basic "))).toBe(true);
    await eventually(() => proxy.asked.map(({ socket }) => socket.destroyed)).toEqual([true, false]);
  });

  it("without --ca-file → no socket, and the proxy is named without its password", async () => {
    const { gateway, proxy, edge } = await behind(({ join }) => join());
    const origin = `https://${WORKER_NAME}:${gateway.port}`;
    const proxyUrl = `http://127.0.0.1:${proxy.port}`;
    const secret = proxyUrl.replace("//", "//edge:Secret@");
    const outbound = { proxy: proxyTo(origin, { HTTPS_PROXY: secret }), trust: undefined };
    const opened = await openSocket(
      await asMachine(origin, outbound, edge),
      PATH,
      NOTHING,
      new AbortController().signal,
    );
    if (opened.ok) throw new Error("it was opened");
    const { why } = opened.error;
    expect(why).toMatch(/^the upgrade failed: no trusted authority has signed/);
    expect(why.endsWith(`(through the proxy ${proxyUrl})`)).toBe(true);
    expect(gateway.log).toEqual([]);
  });
});

it("given up while the proxy opens no connection → the connection to the proxy ends by its deadline", async () => {
  const arrived = Promise.withResolvers<void>();
  const { proxy, edge } = await behind(() => arrived.resolve());
  const origin = `https://${WORKER_NAME}`;
  const outbound = {
    proxy: proxyTo(origin, { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` }),
    trust: undefined,
  };
  const given = new AbortController();
  const pass = heldTimers();
  const opened = openSocket(await asMachine(origin, outbound, edge), PATH, NOTHING, given.signal);
  await arrived.promise;
  given.abort();
  pass(9000);
  expect((await opened).ok).toBe(false);
  await eventually(() => proxy.sockets.size).toBe(0);
});

describe("a proxy that breaks sockets → after three of them HTTP alone, and no report is lost", () => {
  it("decrypts TLS, and refuses upgrades", async () => {
    const { gateway, edge } = await behind(({ join }) => join(), {
      upgrade: { status: 403, body: "denied" },
    });
    for (let attempts = 0; attempts < 3; attempts++) await attempt(edge);
    await expectHttpAlone(gateway, edge);
    expect(edge.lines).toEqual([
      "info reports go by HTTP; no socket: a proxy on the way does not pass WebSockets on: it answers HTTP 403",
    ]);
  });

  it("holds the upgrade back", async () => {
    const { gateway, edge } = await behind(({ join }) => join(), { upgrade: "nothing" });
    const pass = heldTimers();
    for (let attempts = 1; attempts <= 3; attempts++) {
      const attempted = attempt(edge);
      await eventually(() => upgrades(gateway)).toBe(attempts);
      pass(9000);
      await attempted;
    }
    await expectHttpAlone(gateway, edge);
    expect(edge.lines).toEqual([
      "info reports go by HTTP; no socket: no answer within 9 s to the upgrade: a proxy on the way may hold it back",
    ]);
  });

  it("buffers all bytes after the upgrade → the waiting report goes by HTTP, as a ping has no answer either", async () => {
    const { gateway, edge } = await behind(({ join }) => join(), { report: "nothing" });
    for (let attempts = 0; attempts < 3; attempts++) {
      await attempt(edge);
      const report = edge.report();
      await eventually(() => gateway.log.at(-1)).toBe("report");
      await edge.clock.pass(13_500);
      expect(await report).toMatchObject({ ok: true });
    }
    await expectHttpAlone(gateway, edge);
    expect(edge.lines).toEqual(["info reports go by HTTP; no socket: no answer within 9 s"]);
  });

  it("cuts connections that are idle for 5 s, before each heartbeat", async () => {
    const tunnels: Socket[] = [];
    const { gateway, edge } = await behind(({ target, socket }) => {
      tunnels.push(socket);
      const worker = connect(Number(target.split(":").at(-1)), "127.0.0.1");
      worker.on("error", () => undefined);
      worker.once("connect", () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        socket.pipe(worker).pipe(socket);
      });
    });
    for (let attempts = 0; attempts < 3; attempts++) {
      await attempt(edge);
      expect(await edge.report()).toMatchObject({ ok: true });
      await edge.clock.pass(4600);
      for (const tunnel of tunnels.splice(0)) tunnel.resetAndDestroy();
      await eventually(() => edge.link.socket()).toBeNull();
    }
    expect(gateway.log.filter((line) => line === "report")).toHaveLength(3);
    await expectHttpAlone(gateway, edge);
  });
});
