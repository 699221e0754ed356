// Makes bodies that are changed, cut, enlarged, or no JSON; with their recorded JWT, or without one.
import { gzipSync } from "node:zlib";
import { LIMITS } from "../../../../shared/protocol/limits.ts";
import {
  anyRequest,
  type Attack,
  bearing,
  type Draw,
  enrolling,
  enrolment,
  type Kind,
  signedRequest,
} from "../attack.ts";
import { digestOf, signedBy } from "../jwt.ts";

/** Returns a request with this body: signed by the thief on a recorded request's path, or to the operators' API. */
function sent(draw: Draw, body: Uint8Array | string, more: Partial<Attack> = {}): Attack {
  const { random, thief } = draw;
  const request = anyRequest(draw);
  const place = random.int(4);
  if (place === 0) return { ...enrolling(enrolment(draw), ""), body, ...more };
  if (place === 1) {
    const path = random.pick(["/v1/tokens", `${request.path.replace(/\w+$/, "")}approve`]);
    return { method: "POST", path, headers: { authorization: "Bearer guess" }, body, ...more };
  }
  if (place === 2) {
    const { jwt, ...signed } = signedRequest(draw);
    const token = signedBy(thief, jwt.header, { ...jwt.claims, body: digestOf(body) });
    return { ...bearing(signed, token), body, ...more };
  }
  return { ...request, body, ...more };
}

const LEAVES = [null, true, -1, 0.5, "", "\u0000", [], {}, "a".repeat(200), [[[]]], { length: 1 }];

/** Returns a copy of a JSON value in which `another` replaces the value at one random place. */
export function withAnother(value: unknown, another: unknown, { random }: Pick<Draw, "random">): unknown {
  if (typeof value !== "object" || value === null || random.chance(0.2)) return another;
  const keys = Object.keys(value);
  if (keys.length === 0) return another;
  const key = random.pick(keys);
  const copy = Array.isArray(value) ? [...(value as unknown[])] : { ...value };
  const at = copy as Record<string, unknown>;
  at[key] = withAnother(at[key], another, { random });
  return copy;
}

/** Returns the recorded body with another value somewhere, with its own JWT or sent to another path. */
function altered(draw: Draw, another: unknown): Attack {
  const request = anyRequest(draw);
  const body = JSON.stringify(withAnother(JSON.parse(request.body), another, draw));
  return draw.random.chance(0.5) ? { ...request, body } : sent(draw, body);
}

const HUGE = ["1e999", "-1e999", "9".repeat(400), "1e-999", "9007199254740993", "-0", "0x10", "1_000", "NaN"];

export const bodyKinds: Record<string, Kind> = {
  "bytes changed": (draw) => {
    const { random } = draw;
    const request = anyRequest(draw);
    const body = Buffer.from(request.body);
    for (let changes = 1 + random.int(4); changes > 0 && body.length > 0; changes--) {
      body[random.int(body.length)] = random.int(256);
    }
    return { ...request, body };
  },
  truncated: (draw) => {
    const request = anyRequest(draw);
    return { ...request, body: request.body.slice(0, draw.random.int(request.body.length)) };
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
    return sent(draw, random.chance(0.5) ? deep : `{"protocol":1,"proof":${deep},"binding":""}`);
  },
  wide: (draw) => {
    const { random } = draw;
    const width = 10 ** (1 + random.int(4));
    const items = Array.from({ length: width }, (_, at) => (random.chance(0.5) ? `"k${at}":0` : `"":0`));
    const list = random.chance(0.5) ? `{${items.join(",")}}` : `[${"0,".repeat(width)}0]`;
    return sent(draw, random.chance(0.5) ? list : `{"protocol":1,"proof":"","binding":"","more":${list}}`);
  },
  "duplicate keys": (draw) => {
    const { random } = draw;
    const request = anyRequest(draw);
    const twice = random.pick(['"protocol":2,', '"proof":"e30.e30.e30",', '"facts":null,', '"protocol":1,']);
    const body = random.chance(0.5)
      ? request.body.replace("{", `{${twice}`)
      : request.body.replace(/\}$/, `,${twice.slice(0, -1)}}`);
    return { ...request, body };
  },
  prototype: (draw) => {
    const key = draw.random.pick(["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"]);
    const value = draw.random.pick(['{"protocol":1}', "null", '{"isRevoked":false}', "[]", '"x"']);
    const request = anyRequest(draw);
    const body = request.body.replace("{", `{"${key}":${value},`);
    return draw.random.chance(0.5) ? { ...request, body } : sent(draw, body);
  },
  "huge numbers": (draw) => {
    const request = anyRequest(draw);
    const numbers = [...request.body.matchAll(/(?<=[:[,])-?\d+(?=[,\]}])/g)];
    const found = numbers.length > 0 ? draw.random.pick(numbers) : null;
    const huge = draw.random.pick(HUGE);
    if (!found) return sent(draw, `{"protocol":${huge},"proof":"","binding":""}`);
    const body =
      request.body.slice(0, found.index) + huge + request.body.slice(found.index + found[0].length);
    return { ...request, body };
  },
  "bad UTF-8": (draw) => {
    const { random } = draw;
    const request = anyRequest(draw);
    const bad = random.pick([
      [0xff],
      [0xc0, 0x80],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xe2, 0x82],
    ]);
    const body = Buffer.from(request.body);
    const at = random.int(body.length + 1);
    return { ...request, body: Buffer.concat([body.subarray(0, at), Buffer.from(bad), body.subarray(at)]) };
  },
  "zip-like": (draw) => {
    const { random } = draw;
    const request = anyRequest(draw);
    const bomb = gzipSync(random.chance(0.5) ? request.body : Buffer.alloc(1 << random.int(22), 32));
    const encoding = random.pick(["gzip", "deflate", "br", "identity", "gzip, gzip", ""]);
    const body = random.chance(0.7) ? bomb : Buffer.concat([Buffer.from("PK\u0003\u0004"), random.bytes(64)]);
    const headers = { ...request.headers, ...(encoding && { "content-encoding": encoding }) };
    return random.chance(0.5) ? { ...request, headers, body } : sent(draw, body);
  },
  "wrong types": (draw) => altered(draw, draw.random.pick(LEAVES)),
  "no JSON": (draw) => {
    const { random } = draw;
    const text = random.pick([
      "",
      " ",
      "null",
      "undefined",
      "<xml/>",
      "a=b&c=d",
      "--boundary",
      "{]",
      "\u{FEFF}{}",
    ]);
    return sent(draw, random.chance(0.5) ? text : random.bytes(random.int(300)));
  },
  "over the limit": (draw) => {
    const { random } = draw;
    // One body in eight is large: large bodies take most of a run's time.
    const bytes = random.chance(0.125) ? LIMITS.bodyBytes + 1 + random.int(4096) : random.int(4096);
    const body = `${random.chance(0.5) ? "{" : ""}${" ".repeat(bytes)}`;
    return sent(draw, body, { isChunked: random.chance(0.5) });
  },
};
