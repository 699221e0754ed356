// Makes heartbeats that are not the next one of their session: altered, guessed, of other sessions, repeated, or
// too many. A thief does not have the session's key.
import { createHmac, hkdfSync } from "node:crypto";
import { type HeartbeatFrame, heartbeatText, sessionInfo } from "../../../../../shared/protocol/frames.ts";
import type { FrameDraw, FrameKind } from "../shot.ts";
import type { Tapped } from "../tapped.ts";

const MAC_BYTES = 16;

/** Returns a quiet heartbeat's payload: only its MAC will be wrong. */
function payloadOf({ random, target }: FrameDraw): string {
  const [payload = ""] = (target.withheld.beat || JSON.stringify(INVENTED)).split("\n");
  if (random.chance(0.5)) return payload;
  const n = random.pick([1, 2, 3, 1000, Number.MAX_SAFE_INTEGER]);
  return JSON.stringify({ ...(JSON.parse(payload) as HeartbeatFrame), n });
}

const INVENTED: HeartbeatFrame = {
  type: "heartbeat",
  n: 1,
  at: Date.UTC(2026, 0, 2),
  available: [12e9, 160e9, 6e6, 80e9, 3e6, 30_000],
};

/** Returns heartbeats of the machine: sent ones, withheld ones, and wrong ones that no shim makes. */
function beatsOf({ beats, withheld }: Tapped): string[] {
  return [...beats, ...(withheld.beat === "" ? [] : [withheld.beat]), ...withheld.wrongBeats];
}

function oneOf({ random, target }: FrameDraw, beats: readonly string[]): string {
  const invented = `${JSON.stringify(INVENTED)}\n${Buffer.from(random.bytes(MAC_BYTES)).toString("base64url")}`;
  return beats.length > 0 ? random.pick(beats) : target.withheld.beat || invented;
}

/** Returns the keys that a thief may guess: public values, an empty key, zeros. */
function guessedKeys({ name, own, theirs, nonces }: Tapped): (string | Uint8Array)[] {
  const zeros = Buffer.alloc(32);
  const publicKeys = [own, theirs].map((key) => Buffer.from(key, "base64url"));
  const derived = [zeros, ...publicKeys].flatMap((secret) =>
    [sessionInfo(name, own, theirs), sessionInfo(name, theirs, own)].map((info) =>
      Buffer.from(hkdfSync("sha256", secret, "", info, 32)),
    ),
  );
  return ["", zeros, own, theirs, nonces.at(-1) ?? "", name, ...publicKeys, ...derived];
}

/** Returns the same content in another notation. A MAC covers the exact text, so the notation matters. */
function otherwiseWritten(payload: string, { random }: FrameDraw): string {
  const { type, n, at, available, ...rest } = JSON.parse(payload) as HeartbeatFrame;
  return random.pick([
    `${payload} `,
    ` ${payload}`,
    payload.replaceAll(",", ", "),
    payload.replace('"n"', '"\\u006e"'),
    payload.replace(/"n":(\d+)/, '"n":$1.0'),
    payload.replace("{", '{"n":99,'),
    JSON.stringify({ n, type, available, at, ...rest }),
    JSON.stringify({ type, n, at: at + 1, available }),
    JSON.stringify({ type, n: n + 1, at, available }),
    JSON.stringify({ type, n, at, available: available.map((amount) => amount && amount - 1) }),
    JSON.stringify({ type, n, at, available: available.map(() => null) }),
    JSON.stringify({ type, n, at, available, remainingSeconds: { Gone: 3600 } }),
  ]);
}

export const heartbeatKinds: Record<string, FrameKind> = {
  "altered MAC": (draw) => {
    const { random } = draw;
    const [payload = "", mac = ""] = oneOf(draw, []).split("\n");
    const bytes = Buffer.from(mac, "base64url");
    bytes[random.int(bytes.length)]! ^= 1 << random.int(8);
    // The last base64url character of a MAC has unused bits, so another character may stand for the same bytes.
    const spared = mac.slice(0, -1) + random.pick(["A", "Q", "g", "w", "B", "_", "=", "\u00FC"]);
    const other = random.pick([
      bytes.toString("base64url"),
      spared,
      mac.toUpperCase(),
      "A".repeat(mac.length),
      Buffer.from(random.bytes(MAC_BYTES)).toString("base64url"),
    ]);
    return { text: `${payload}\n${other}` };
  },
  "altered heartbeat": (draw) => {
    const [payload = "", mac = ""] = oneOf(draw, beatsOf(draw.target)).split("\n");
    return { text: `${otherwiseWritten(payload, draw)}\n${mac}` };
  },
  "guessed key": (draw) => {
    const { random, target } = draw;
    const payload = payloadOf(draw);
    const nonce = random.pick(["", ...target.nonces]);
    const signed = random.chance(0.8) ? heartbeatText(nonce, payload) : payload;
    const mac = createHmac("sha256", random.pick(guessedKeys(target)))
      .update(signed)
      .digest();
    return { text: `${payload}\n${mac.toString("base64url", 0, MAC_BYTES)}` };
  },
  "wrong n or nonce": (draw) => ({ text: oneOf(draw, draw.target.withheld.wrongBeats) }),
  "another socket's heartbeat": (draw) => ({ text: oneOf(draw, beatsOf(draw.other)) }),
  "replayed heartbeat": (draw) => ({ text: oneOf(draw, draw.target.beats) }),
  "heartbeat of a session before": (draw) => ({ text: oneOf(draw, beatsOf(draw.before)) }),
  "exchanged MACs": (draw) => {
    const [payload = ""] = oneOf(draw, beatsOf(draw.target)).split("\n");
    const [, mac = ""] = oneOf(draw, beatsOf(draw.random.chance(0.5) ? draw.target : draw.other)).split("\n");
    return { text: `${payload}\n${mac}` };
  },
  "flood of heartbeats": (draw) => ({
    text: oneOf(draw, draw.target.withheld.wrongBeats),
    times: 4 + draw.random.int(draw.random.chance(0.1) ? 60 : 6),
  }),
};
