// Makes malformed frames, which close the socket; also pings, and bytes that are no WebSocket's.
import { HEARTBEAT_MAC_LENGTH } from "../../../../../shared/protocol/frames.ts";
import { LIMITS } from "../../../../../shared/protocol/limits.ts";
import { withAnother } from "../../kinds/bodies.ts";
import { type FrameDraw, type FrameKind, goodText, reportText, type Shot } from "../shot.ts";

const NO_FRAMES = [
  "",
  " ",
  "null",
  "0",
  "[]",
  "{}",
  "{]",
  '"heartbeat"',
  "undefined",
  "\n",
  "\n\n",
  "\u0000",
  "\u{FEFF}{}",
];

/** Texts of other protocols over WebSockets, and of people who try a socket out. */
const CONTROLS = [
  "ping",
  "pong",
  "close",
  "PING\r\n",
  "2probe",
  "3",
  "o",
  'a["{}"]',
  '{"type":"connection_init"}',
  '{"type":"ping"}',
  '{"op":1,"d":null}',
  '{"event":"phx_join","topic":"x"}',
  '{"jsonrpc":"2.0","id":1,"method":"withdraw","params":["live-1",1e18]}',
  '{"type":"withdraw","name":"live-1","floor":9007199254740991}',
  '{"type":"lend"}',
  "CONNECT\naccept-version:1.2\n\n\u0000",
  "GET /v1/nodes HTTP/1.1\r\nhost: rollcall.test\r\n\r\n",
];

/** Returns a frame that only a gateway sends. */
function workersOwn({ random, target }: FrameDraw): unknown {
  const nonce = target.nonces.at(-1) ?? "A".repeat(22);
  return random.pick<unknown>([
    { type: "answer", n: 1, nonce, nextInMs: 0 },
    { type: "again", reason: "not quiet" },
    { type: "report-now" },
    { type: "closing", reason: "moved", comeBackInMs: 0 },
    { type: "left" },
    {
      type: "report-answer",
      status: 200,
      body: { phase: "registered", ready: true, ticket: "A".repeat(22), reportInMs: 9600 },
      session: { key: target.own, nonce },
      comeBackWithinMs: 5000,
    },
  ]);
}

const PROTOTYPES = ["__proto__", "constructor", "toString", "then"];
const OTHERS = [null, true, -1, 0.5, 2 ** 53, "", "\u0000", [], {}, "a".repeat(200), [[[]]], { length: 6 }];

/** Changes the first line of a heartbeat and keeps its MAC, or changes the text of a report. */
function changed(text: string, change: (payload: string) => string): string {
  const [payload = "", mac] = text.split("\n");
  return mac === undefined ? change(payload) : `${change(payload)}\n${mac}`;
}

/** Returns a report of this number of bytes, with a body as large as allowed. */
function ofBytes(draw: FrameDraw, bytes: number): string {
  const { token } = draw.target.withheld.report;
  const filling = draw.random.pick(["a", "\u00FC", "\u20AC", "\u{1F600}", " ", "[", "\\u0000"]);
  const empty = reportText({ type: "report", token, body: "" });
  const room = bytes - Buffer.byteLength(empty);
  const each = Buffer.byteLength(JSON.stringify(filling)) - 2;
  const body = filling.repeat(Math.floor(room / each)) + "a".repeat(room % each);
  return reportText({ type: "report", token, body });
}

/**
 * Returns the bytes of a WebSocket frame: FIN and an opcode, the mask bit and a length, a mask of zeros, and the
 * payload.
 */
function wireFrame(first: number, payload: Uint8Array, isMasked = true): Uint8Array {
  const head = [first, (isMasked ? 0x80 : 0) | payload.length, ...(isMasked ? [0, 0, 0, 0] : [])];
  return Buffer.concat([Buffer.from(head), payload]);
}

const json = (value: unknown): Shot => ({ text: JSON.stringify(value) });

export const textKinds: Record<string, FrameKind> = {
  "no frame": ({ random }) => {
    if (random.chance(0.5)) return { text: random.pick(NO_FRAMES) };
    const noise = Buffer.from(random.bytes(random.int(300)));
    return { text: noise.toString(random.chance(0.5) ? "latin1" : "base64") };
  },
  "control-like": ({ random }) => ({ text: random.pick(CONTROLS) }),
  "the Worker's own": (draw) => json(workersOwn(draw)),
  "wrong types": (draw) => {
    const another = draw.random.pick(OTHERS);
    const change = (payload: string) => JSON.stringify(withAnother(JSON.parse(payload), another, draw));
    return { text: changed(goodText(draw), change) };
  },
  "fields too many": (draw) => {
    const { random } = draw;
    const key = random.pick([...PROTOTYPES, "kid", "name", "gateway", "returned", "floor", "epoch", "mac"]);
    const value = random.pick(['{"isAccepted":true}', "null", "1e999", '"x"', "[]"]);
    return { text: changed(goodText(draw), (payload) => payload.replace("{", `{"${key}":${value},`)) };
  },
  deep: (draw) => {
    const { random } = draw;
    const depth = 10 ** (1 + random.int(4)) + random.int(10_000);
    const [open, close] = random.pick([
      ["[", "]"],
      ['{"a":', "}"],
      ['{"__proto__":', "}"],
    ] as const);
    const deep = `${open.repeat(depth)}1${random.chance(0.8) ? close.repeat(depth) : ""}`;
    const mac = `\n${"A".repeat(HEARTBEAT_MAC_LENGTH)}`;
    return {
      text: random.pick([
        deep,
        `{"type":"report","token":${deep},"body":""}`,
        `{"type":"heartbeat","n":1,"at":0,"available":${deep}}${mac}`,
      ]),
    };
  },
  wide: ({ random }) => {
    const width = 10 ** (1 + random.int(4));
    const numbers = `[${"0,".repeat(width)}0]`;
    const keys = Array.from({ length: width }, (_, at) => `"k${random.chance(0.5) ? at : 0}":0`).join(",");
    const mac = `\n${"A".repeat(HEARTBEAT_MAC_LENGTH)}`;
    return {
      text: random.pick([
        numbers,
        `{${keys}}`,
        `{"type":"heartbeat","n":1,"at":0,"available":${numbers}}${mac}`,
        `{"type":"heartbeat","n":1,"at":0,"available":[0,0,0,0,0,0],"remainingSeconds":{${keys}}}${mac}`,
      ]),
    };
  },
  "several in one": (draw) => {
    const [one, other] = [goodText(draw), goodText(draw)];
    const between = draw.random.pick(["\n", "", "\r\n", "\u001E", ",", "\n\n"]);
    return { text: draw.random.chance(0.3) ? `[${one},${other}]` : `${one}${between}${other}` };
  },
  truncated: (draw) => {
    const text = goodText(draw);
    return { text: text.slice(0, draw.random.int(text.length)) };
  },
  binary: (draw) => {
    const { random } = draw;
    return { binary: random.chance(0.7) ? Buffer.from(goodText(draw)) : random.bytes(random.int(600)) };
  },
  "over the limit": (draw) => {
    const { random } = draw;
    const bytes = LIMITS.bodyBytes + 1 + (random.chance(0.5) ? 0 : random.int(4096));
    return { text: ofBytes(draw, bytes), pieces: 1 + random.int(3) };
  },
  // One frame in eight is huge: large bodies take most of a run's time.
  huge: (draw) => {
    const { random } = draw;
    const bytes = random.chance(0.125)
      ? 2 ** 20 + random.int(2 ** 20)
      : LIMITS.bodyBytes + random.int(2 ** 15);
    const text = random.pick(["{", "a", "\n", "\u0000", '{"type":']);
    return { text: text.repeat(Math.ceil(bytes / text.length) + 1), pieces: 1 + random.int(8) };
  },
  "bad UTF-8": (draw) => {
    const { random } = draw;
    const bad = random.pick([
      [0xff],
      [0xc0, 0x80],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xe2, 0x82],
    ]);
    const text = Buffer.from(goodText(draw));
    const at = random.int(text.length + 1);
    return { text: Buffer.concat([text.subarray(0, at), Buffer.from(bad), text.subarray(at)]) };
  },
  "no WebSocket": ({ random }) => ({
    raw: random.pick([
      wireFrame(0xc1, Buffer.from("compressed, which nobody agreed to")),
      wireFrame(0x81, Buffer.from("not masked"), false),
      wireFrame(0x83, Buffer.from("an opcode that nobody has")),
      wireFrame(0x80, Buffer.from("goes on with nothing")),
      wireFrame(0x09, Buffer.from("a ping in pieces")),
      Buffer.from("GET / HTTP/1.1\r\nhost: rollcall.test\r\n\r\n"),
    ]),
  }),
  ping: ({ random }) => ({ ping: random.bytes(random.int(126)) }),
  "at the limit": (draw) => ({ text: ofBytes(draw, LIMITS.bodyBytes - draw.random.int(3)) }),
};
