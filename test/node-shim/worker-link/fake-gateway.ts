// Plays a Worker with one gateway on loopback, for tests of the shim's sockets. The test sets the answers. The
// gateway checks frames like a real one, and records them with their transport. Its cryptography is Web Crypto's.
import { webcrypto } from "node:crypto";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Duplex } from "node:stream";
import {
  calculateJwkThumbprint,
  decodeJwt,
  decodeProtectedHeader,
  importJWK,
  type JWK,
  jwtVerify,
} from "jose";
import { WebSocketServer, type WebSocket } from "ws";
import type { ReportAnswer } from "../../../shared/protocol/answers.ts";
import type { ConnectClaims, ReportClaims } from "../../../shared/protocol/claims.ts";
import {
  type GatewayFrame,
  type HeartbeatFrame,
  heartbeatText,
  reportFrameSchema,
  sessionInfo,
} from "../../../shared/protocol/frames.ts";
import type { Report } from "../../../shared/protocol/report.ts";
import { sha256Base64url } from "../../../node-shim/worker-link/sign.ts";
import { listening, type Pems } from "./connect-proxy.ts";

const { subtle } = webcrypto;
const PATH = "/v1/gateways/7/nodes/edge-1";
const text = (text: string) => new TextEncoder().encode(text);

/** Makes the gateway's side of a session, with a secret from Web Crypto. */
export async function gatewaySide(name: string, machineKey: string) {
  const pair = (await subtle.generateKey("X25519", true, ["deriveBits"])) as webcrypto.CryptoKeyPair;
  const publicKey = Buffer.from(await subtle.exportKey("raw", pair.publicKey)).toString("base64url");
  const machine = await subtle.importKey("raw", Buffer.from(machineKey, "base64url"), "X25519", true, []);
  const secret = await subtle.deriveBits({ name: "X25519", public: machine }, pair.privateKey, 256);
  const info = text(sessionInfo(name, machineKey, publicKey));
  const hkdf = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info };
  const base = await subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await subtle.importKey("raw", await subtle.deriveBits(hkdf, base, 256), hmac, false, ["sign"]);
  return {
    publicKey,
    async isGenuine(frame: string, nonce: string, textOf = heartbeatText): Promise<boolean> {
      const [payload = "", mac] = frame.split("\n");
      const whole = await subtle.sign("HMAC", key, text(textOf(nonce, payload)));
      return mac === Buffer.from(whole.slice(0, 16)).toString("base64url");
    },
  };
}

/**
 * The gateway's reaction to a frame. "answer" means the usual answer, "cut" that the gateway drops the connection.
 */
export type Reply = "answer" | "nothing" | "cut" | GatewayFrame;

/** The Worker's behaviour, which tests may change at any time. */
export interface Behaviour {
  /** The offer of a socket in the Worker's answers; null for no offer. */
  offer: { path?: string; withinMs: number } | null;
  /** The answer to an upgrade. null accepts it, and "nothing" leaves it unanswered. */
  upgrade:
    { status: number; problem?: object; body?: string; headers?: Record<string, string> } | "nothing" | null;
  report: Reply;
  beat: Reply;
  /** true if the Worker lends the lease to the gateway, so that heartbeats may follow. */
  lends: boolean;
  comeBackWithinMs: number;
  nextInMs: number;
  reportInMs: number;
  /** The problem that answers a report, by HTTP and over a socket; null for the usual answer. */
  problem: { status: number; reason: string } | null;
}

export type FakeGateway = Awaited<ReturnType<typeof fakeGateway>>;

export async function fakeGateway(more: Partial<Behaviour> = {}, pems?: Pems) {
  const behaviour: Behaviour = {
    offer: { withinMs: 0 },
    upgrade: null,
    report: "answer",
    beat: "answer",
    lends: true,
    comeBackWithinMs: 5000,
    nextInMs: 9600,
    reportInMs: 9600,
    problem: null,
    ...more,
  };
  /**
   * The requests and frames in their order: "http wanted", "upgrade", "report", "report +facts", "beat 1", "closed
   * 1000" …
   */
  const log: string[] = [];
  /** The header with which each upgrade states until when the machine waits. */
  const untils: unknown[] = [];
  const reports: { claims: ReportClaims; report: Report }[] = [];
  const beats: HeartbeatFrame[] = [];
  const sockets: WebSocket[] = [];
  const underWay = { now: 0, most: 0 };
  let tickets = 0;

  const answer = (): ReportAnswer => ({
    phase: "registered",
    ready: true,
    ticket: `t${++tickets}`,
    reportInMs: behaviour.reportInMs,
  });
  const problem = () =>
    behaviour.problem && { type: "about:blank", title: "Refused", detail: "Do this.", ...behaviour.problem };

  function note(token: string, body: string, way: string): ReportClaims {
    const claims = decodeJwt<ReportClaims>(token);
    if (claims.body !== sha256Base64url(body)) throw new Error("the body is not what was signed");
    const report = JSON.parse(body) as Report;
    reports.push({ claims, report });
    log.push(`${way}${report.facts === undefined ? "" : " +facts"}`);
    return claims;
  }

  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const isWanted = request.headers["rollcall-transport"] === "socket";
      const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
      note(token, Buffer.concat(chunks).toString(), isWanted ? "http wanted" : "http");
      const { offer } = behaviour;
      const path = `${PATH}?t=${log.length}`;
      const refusal = problem();
      response.statusCode = refusal?.status ?? 200;
      const socket = isWanted && offer ? { socket: { path, ...offer } } : {};
      response.end(JSON.stringify(refusal ?? { ...answer(), ...socket }));
    });
  };

  // A ping without an answer is what a stuck connection has.
  const wss = new WebSocketServer({ noServer: true, perMessageDeflate: true, autoPong: false });
  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    log.push(`upgrade ${request.url?.split("?")[1]}`);
    untils.push(request.headers["rollcall-until"]);
    socket.on("error", () => undefined);
    const { upgrade } = behaviour;
    if (upgrade === "nothing") return;
    if (upgrade !== null) {
      const body = upgrade.body ?? JSON.stringify(upgrade.problem);
      const headers = Object.entries({ ...upgrade.headers, "content-length": body.length });
      const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
      socket.end(`HTTP/1.1 ${upgrade.status} X\r\n${lines}\r\n${body}`);
      return;
    }
    void verifiedConnect(request).then((session) =>
      wss.handleUpgrade(request, socket, head, (opened) => {
        sockets.push(opened);
        onSocket(opened, session);
      }),
    );
  };

  function onSocket(socket: WebSocket, machineKey: string): void {
    let session: { side: Awaited<ReturnType<typeof gatewaySide>>; nonce: string; n: number } | null = null;
    const say = (frame: GatewayFrame) => socket.send(JSON.stringify(frame));
    socket.on("close", (code: number) => log.push(`closed ${code}`));
    socket.on("message", (data: Buffer) => {
      underWay.most = Math.max(underWay.most, ++underWay.now);
      void onFrame(data.toString()).finally(() => underWay.now--);
    });
    const replyWith = async (reply: Reply, answered: () => Promise<GatewayFrame>) => {
      if (reply === "cut") socket.terminate();
      else if (reply !== "nothing") say(reply === "answer" ? await answered() : reply);
    };
    async function onFrame(frame: string): Promise<void> {
      if (frame.includes("\n")) return onBeat(frame);
      const { token, body } = reportFrameSchema.parse(JSON.parse(frame));
      if (note(token, body, "report").session !== machineKey) throw new Error("another socket's key");
      await replyWith(behaviour.report, async () => {
        const refusal = problem();
        const status = refusal?.status ?? 200;
        const { comeBackWithinMs, lends } = behaviour;
        session = { side: await gatewaySide("edge-1", machineKey), nonce: nonce(), n: 0 };
        const { side } = session;
        return {
          type: "report-answer",
          status,
          body: (refusal as never) ?? answer(),
          ...(lends && !refusal && { session: { key: side.publicKey, nonce: session.nonce } }),
          comeBackWithinMs,
        };
      });
    }
    async function onBeat(frame: string): Promise<void> {
      const heartbeat = JSON.parse(frame.split("\n")[0] ?? "") as HeartbeatFrame;
      log.push(`beat ${heartbeat.n}`);
      beats.push(heartbeat);
      if (session === null || heartbeat.n !== ++session.n) throw new Error("no beat of this session");
      if (!(await session.side.isGenuine(frame, session.nonce))) throw new Error("another MAC");
      const { n } = heartbeat;
      await replyWith(behaviour.beat, async () => {
        const next = nonce();
        if (session) session.nonce = next;
        return { type: "answer", n, nonce: next, nextInMs: behaviour.nextInMs };
      });
    }
  }

  const server = pems ? createHttpsServer(pems, onRequest) : createHttpServer(onRequest);
  server.on("upgrade", onUpgrade);
  const { port, close } = await listening(server);
  return {
    port,
    close,
    behaviour,
    log,
    untils,
    reports,
    beats,
    sockets,
    underWay,
    say: (frame: GatewayFrame) => sockets.at(-1)?.send(JSON.stringify(frame)),
  };
}

const nonce = () => webcrypto.randomUUID().slice(0, 22);

/** Verifies the signature of the request that opens a socket. Returns the session's key. */
async function verifiedConnect({ headers, url = "" }: IncomingMessage): Promise<string> {
  const token = headers.authorization?.replace("Bearer ", "") ?? "";
  const { kid, jwk, typ } = decodeProtectedHeader(token) as { kid?: string; jwk: JWK; typ?: string };
  const { payload } = await jwtVerify<ConnectClaims>(token, await importJWK(jwk, "EdDSA"));
  const isOfKey = kid?.split(".")[1] === (await calculateJwkThumbprint(jwk));
  const isOfPath = payload.path === url.split("?")[0] && payload.method === "GET";
  if (typ !== "rollcall-connect+jwt" || !isOfKey || !isOfPath || payload.sub !== "edge-1")
    throw new Error(`another signature: ${JSON.stringify({ payload, typ, kid })}`);
  return payload.session;
}
