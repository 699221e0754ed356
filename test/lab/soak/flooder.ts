// Simulates one enrolled machine that floods its gateway, in a separate process: `node flooder.ts WISH`. The machine
// waits for no answer, ignores the gateway's frames, and keeps its side of connections that the Worker closes. Each
// second this process sends its counts to the parent process.
import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { simulatedFacts, simulatedVitals } from "../../../infra/local/simulated-machine.ts";
import { defaultConfiguration } from "../../../node-shim/config/config.ts";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { requestFaultText } from "../../../node-shim/worker-link/exchange.ts";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { reporter } from "../../../node-shim/worker-link/reporter.ts";
import { enrol } from "../../../node-shim/worker-link/requests.ts";
import { makeSessionKeys } from "../../../node-shim/worker-link/session.ts";
import { sha256Base64url, signConnect, signReport } from "../../../node-shim/worker-link/sign.ts";
import { canonicalJson } from "../../../shared/protocol/digest.ts";
import { HEARTBEAT_MAC_LENGTH } from "../../../shared/protocol/frames.ts";
import { PROTOCOL, SIGNALS } from "../../../shared/protocol/report.ts";
import type { FlooderReport, FlooderWish } from "./flood.ts";

const WITHIN_MS = 9000;
const SAY_EVERY_MS = 1000;
/** The number of upgrade requests that the flooder sends at the same time. */
const AT_ONCE = 32;
/** The number of frames that are sent between two reads of the gateway's frames. */
const FRAMES_AT_ONCE = 100;

const { url: origin, joinToken, name, index, kind } = JSON.parse(process.argv[2] ?? "") as FlooderWish;
const { hostname, port } = new URL(origin);
const key = await makeMachineKey();
const http = httpTransport(origin, WITHIN_MS);
const asking = { name, origin, joinToken, machineID: name, systemUUID: name };
const enrolled = await enrol(http.send, key, asking);
if (!enrolled.ok) throw new Error(`${name} could not enrol: ${JSON.stringify(enrolled.error)}`);
const { kid } = enrolled.value;
const own = { name, origin, key, kid };
const startId = randomBytes(16).toString("base64url");
const facts = simulatedFacts(index, defaultConfiguration());
const factsDigest = sha256Base64url(canonicalJson(facts));
const now = () => new Date().toISOString();

let offered = "";
const link = {
  headers: () => ({ "rollcall-transport": "socket" }),
  offered: (offer: { path: string } | undefined) => void (offered = offer?.path ?? ""),
  socket: () => null,
  isOver: () => false,
};
const reporting = { ...own, ticket: enrolled.value.ticket, link, startId, send: http.send, machineTime: now };
const postReport = reporter(reporting);

let sent = 0;
let answers: Record<string, number> = {};
const note = (answer: string) => void (answers[answer] = (answers[answer] ?? 0) + 1);

interface OpenedSocket {
  socket: Socket;
  /** The public key of the socket's session, which reports on the socket are signed for. */
  session: string;
}

/** Reports by HTTP to get the offer of a socket. Returns its path, or "" if the Worker offers none. */
async function offer(): Promise<string> {
  offered = "";
  const outcome = await postReport(facts, simulatedVitals(index));
  if (!outcome.ok) note(`report: ${requestFaultText(outcome.error)}`);
  return offered;
}

async function upgradeHead(path: string, session: string): Promise<string> {
  const claims = { sub: name, aud: origin, method: "GET", path: path.split("?")[0] ?? "", session } as const;
  return [
    `GET ${path} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    `authorization: Bearer ${await signConnect(key, kid, claims)}`,
    "connection: Upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    `sec-websocket-key: ${randomBytes(16).toString("base64")}`,
    "\r\n",
  ].join("\r\n");
}

/** Sends a request and returns the status code. At 101 the socket is open. */
function ask(head: string): Promise<{ status: string; socket: Socket }> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    const over = (status: string) => resolve({ status, socket });
    socket.setTimeout(WITHIN_MS, () => over("late"));
    socket.once("error", () => over("cut")).once("close", () => over("cut"));
    socket.once("data", (bytes: Buffer) => over(bytes.toString("latin1").split(" ")[1] ?? ""));
    socket.write(head);
  });
}

async function open(): Promise<OpenedSocket | null> {
  const path = await offer();
  if (path === "") return null;
  const { publicKey: session } = makeSessionKeys();
  const { status, socket } = await ask(await upgradeHead(path, session));
  note(`upgrade: ${status}`);
  if (status === "101") return { socket, session };
  socket.destroy();
  return null;
}

/**
 * Returns a masked text frame of RFC 6455, below 64 KiB. A library is not used: it would send no more once the
 * gateway has closed.
 */
function frameOf(text: string): Buffer {
  const [payload, mask] = [Buffer.from(text), randomBytes(4)];
  const { length } = payload;
  const size = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff];
  const masked = payload.map((byte, at) => byte ^ (mask[at % mask.length] ?? 0));
  return Buffer.concat([Buffer.from([0x81, ...size]), mask, masked]);
}

let n = 0;
let ticket = "";
async function reportFrame(session: string): Promise<Buffer> {
  const body = JSON.stringify({
    protocol: PROTOCOL,
    startId,
    machineTime: now(),
    vitals: simulatedVitals(index),
    factsDigest,
  });
  const claims = { sub: name, aud: origin, body: sha256Base64url(body), ticket, n: ++n, session };
  return frameOf(JSON.stringify({ type: "report", token: await signReport(key, kid, claims), body }));
}

const HEARTBEAT = frameOf(
  `${JSON.stringify({ type: "heartbeat", n: 1, at: 0, available: SIGNALS.map(() => 0) })}\n${"A".repeat(HEARTBEAT_MAC_LENGTH)}`,
);

/** Sends frames as fast as the connection allows, until the gateway cuts the connection. */
async function frames(make: (session: string) => Promise<Buffer> | Buffer): Promise<void> {
  const opened = await open();
  if (opened === null) return wait(SAY_EVERY_MS);
  const { socket, session } = opened;
  socket.setTimeout(0);
  socket
    .on("error", () => undefined)
    .on("data", (bytes: Buffer) => {
      ticket = /"ticket":"([^"]+)"/.exec(bytes.toString("latin1"))?.[1] ?? ticket;
      const reason = /"reason":"([^"]+)"/.exec(bytes.toString("latin1"))?.[1];
      if (reason !== undefined) note(`said: ${reason}`);
    });
  socket.write(await reportFrame(session));
  await wait(SAY_EVERY_MS);
  while (!socket.closed) {
    for (let count = 0; count < FRAMES_AT_ONCE && !socket.closed; count++, sent++) {
      const taken = socket.write(await make(session));
      if (!taken) await Promise.race([drained(socket), wait(SAY_EVERY_MS)]);
    }
    await turn();
  }
  note("connection: cut");
}

const drained = (socket: Socket) => new Promise((resolve) => void socket.once("drain", resolve));

async function reconnect(): Promise<void> {
  sent++;
  const opened = await open();
  if (opened === null) return;
  opened.socket.write(await reportFrame(opened.session));
  opened.socket.destroy();
}

/** Repeats requests for a socket, all with one ticket. */
async function upgrades(): Promise<void> {
  const path = await offer();
  const head = await upgradeHead(path, makeSessionKeys().publicKey);
  const endMs = performance.now() + 10 * SAY_EVERY_MS;
  const one = async () => {
    while (performance.now() < endMs) {
      const { status, socket } = await ask(head);
      sent++;
      note(`upgrade: ${status}`);
      socket.destroy();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

const KINDS: Record<FlooderWish["kind"], () => Promise<void>> = {
  heartbeats: () => frames(() => HEARTBEAT),
  reports: () => frames(reportFrame),
  reconnects: reconnect,
  upgrades,
};

setInterval(() => {
  process.send?.({ sent, answers } satisfies FlooderReport);
  [sent, answers] = [0, {}];
}, SAY_EVERY_MS);
process.once("disconnect", () => process.exit(0));
// The first report creates the machine's Node, so that it exists before the flood starts.
await offer();
for (;;) await KINDS[kind]();
