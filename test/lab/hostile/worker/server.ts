// Plays a hostile Worker on loopback: its answers, their sizes and speeds, and the frames of a gateway.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { type WebSocket, WebSocketServer } from "ws";
import { randomOf } from "../random.ts";
import { hostileAnswer, hostileText } from "./hostile-answers.ts";

/** texts: hostile answers. The others are about size and time; `flood` asks for reports without a pause. */
export const STYLES = ["texts", "flood", "huge", "endless", "slow", "bomb"] as const;
export type Style = (typeof STYLES)[number];

const HUGE_BYTES = 200 * 2 ** 20;
const CHUNK = Buffer.alloc(65_536, "x");
const BOMB = gzipSync(Buffer.alloc(HUGE_BYTES, "x"), { level: 9 });

export interface HostileWorker {
  url: string;
  /** The style of answers, which may change at any time. Enrolments are accepted in each style but `texts`. */
  style: Style;
  /** The times of requests and frames, by performance.now. Upgrades do not count. */
  askedMs: number[];
  /** The times of requests and frames about questions, which `askedMs` does not have. */
  answeredMs: number[];
  /** The bytes of bodies that were written to connections. */
  writtenBytes: number;
  close: () => Promise<void>;
}

export async function hostileWorker(seed: number, style: Style): Promise<HostileWorker> {
  let index = 0;
  const drips = new Set<NodeJS.Timeout>();
  const wss = new WebSocketServer({ noServer: true });
  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    (request.url?.endsWith("/answers") ? worker.answeredMs : worker.askedMs).push(performance.now());
    request.resume().on("end", () => answer(request, response));
  });

  const draw = () => randomOf(seed, index++);
  const send = (response: ServerResponse, status: number, type: string, body: string) => {
    worker.writtenBytes += body.length;
    // A header has no control characters, so only the body has them.
    response.writeHead(status, {
      "content-type": type,
      ...(draw().chance(0.1) && { "retry-after": "0.001" }),
    });
    response.end(body);
  };

  /** Writes at most `bytes`, as fast as the client reads. */
  function pour(response: ServerResponse, bytes: number): void {
    let left = bytes;
    const more = () => {
      while (left > 0 && !response.destroyed) {
        left -= CHUNK.length;
        worker.writtenBytes += CHUNK.length;
        if (!response.write(CHUNK)) return;
      }
      if (!response.destroyed) response.end();
    };
    response.on("drain", more);
    more();
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const { method = "GET", url = "/" } = request;
    const [path = "/"] = url.split("?");
    const isEnrolment = path.endsWith("/enrolment");
    const isReport = path.endsWith("/report");
    const isAnswer = path.endsWith("/answers");
    if (worker.style === "texts" && !(isEnrolment && draw().chance(0.7))) {
      const { status, type, body } = hostileAnswer(method, path, draw());
      return send(response, status, type, body);
    }
    if (isEnrolment)
      return send(response, 200, "application/json", JSON.stringify({ kid: "1.k.e.m", ticket: "t" }));
    switch (worker.style) {
      case "slow": {
        response.writeHead(200);
        const drip = setInterval(() => (response.destroyed ? clearInterval(drip) : response.write(" ")), 200);
        return void drips.add(drip);
      }
      case "huge":
        response.writeHead(200);
        return pour(response, HUGE_BYTES);
      case "endless":
        response.writeHead(200);
        return pour(response, Infinity);
      case "bomb":
        worker.writtenBytes += BOMB.length;
        response.writeHead(200, { "content-encoding": "gzip" });
        return void response.end(BOMB);
      default:
        return send(
          response,
          isReport || isAnswer ? 200 : 404,
          "application/json",
          JSON.stringify(isReport ? report() : isAnswer ? taken() : {}),
        );
    }
  }

  const asked = () => ({
    question: { name: draw().pick(["disks", "units", "logs", hostileText(draw())]), parameters: {} },
    asker: draw().chance(0.5) ? "alice" : hostileText(draw()),
  });

  /** The answer to a part: the machine never has room, or all of it. */
  const taken = () => ({ isWanted: draw().chance(0.9), bytes: draw().pick([0, -1, 131_072, 1e300]) });

  const report = () => ({
    phase: draw().chance(0.5) ? "registering" : hostileText(draw()),
    ready: draw().chance(0.5),
    message: hostileText(draw()),
    factsRefused: { path: hostileText(draw()), message: hostileText(draw()) },
    workerVersion: hostileText(draw()),
    ticket: `t${index}`,
    reportInMs: draw().pick([0, 0.001, 1]),
    socket: { path: "/v1/gateways/1/nodes/edge-1?t=x", withinMs: 0 },
    questions: [{ id: `q${index}`, ...asked() }],
  });

  server.on("upgrade", (request, socket, head) => {
    if (worker.style === "flood") return wss.handleUpgrade(request, socket, head, (opened) => flood(opened));
    socket.end(`HTTP/1.1 403 ${"x".repeat(20)}\r\n\r\n${hostileAnswer("GET", "/v1/feed", draw()).body}`);
  });

  /** Answers each frame, asks for further reports without a pause, and closes with a hostile reason. */
  function flood(socket: WebSocket): void {
    const say = (frame: object) => socket.readyState === socket.OPEN && socket.send(JSON.stringify(frame));
    socket.on("error", () => undefined);
    socket.on("message", (data: Buffer) => {
      const isAnswer = /^\{"type":"(?:questions|part|end)"/.test(data.toString());
      (isAnswer ? worker.answeredMs : worker.askedMs).push(performance.now());
      say({ type: "report-answer", status: 200, body: report(), comeBackWithinMs: 0 });
    });
    const frames: object[] = [
      { type: "report-now" },
      { type: "again", reason: "over" },
      { type: "news", text: hostileText(draw()) },
    ];
    // A question that a gateway must not send ends the socket, so that only some sockets get questions.
    if (draw().chance(0.2))
      frames.push(
        { type: "question", id: 1, credit: 131_072, ...asked() },
        { type: "credit", id: 1, bytes: 2 ** 40 },
        { type: "end", id: 7 },
      );
    let sent = 0;
    const drip = setInterval(() => {
      say(frames[sent++ % frames.length]!);
      if (sent > 1000) socket.close(4000, "x\u001B[2J\u009B2J");
      if (socket.readyState === socket.CLOSED) clearInterval(drip);
    }, 5);
    drips.add(drip);
  }

  await new Promise<void>((ready) => void server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  const worker: HostileWorker = {
    url: `http://127.0.0.1:${port}`,
    style,
    askedMs: [],
    answeredMs: [],
    writtenBytes: 0,
    async close() {
      for (const drip of drips) clearInterval(drip);
      for (const socket of wss.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return worker;
}
