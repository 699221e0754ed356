// Signs one socket's heartbeats with a secret shared with the gateway. The keys are for one socket and never stored.
import {
  createHmac,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from "node:crypto";
import {
  type GatewayFrame,
  type HeartbeatFrame,
  heartbeatText,
  sessionInfo,
} from "../../shared/protocol/frames.ts";
import { answerText } from "../../shared/protocol/asking.ts";
import type { SignFrame } from "./questions.ts";
import {
  amountsOf,
  MISSING_USAGE,
  type MissingUsage,
  type MissingUsageFrame,
  type Usage,
  type UsageFrame,
  usageText,
} from "../../shared/protocol/usage.ts";

/** The X25519 keys of one socket. */
export interface SessionKeys {
  /** The public key in base64url. */
  publicKey: string;
  privateKey: KeyObject;
}

/** The Worker's offer of a session, in its answer to a report. */
type OfferedSession = NonNullable<Extract<GatewayFrame, { type: "report-answer" }>["session"]>;

/** A heartbeat without the fields that the session adds. */
export type Beat = Omit<HeartbeatFrame, "type" | "n">;

export interface SocketSession {
  /** Returns the frame of the next heartbeat. */
  heartbeat: (beat: Beat) => string;
  /** Returns whether `answer` belongs to the last heartbeat. If so, the next heartbeat uses its nonce. */
  answered: (answer: { n: number; nonce: string }) => boolean;
  /** Returns the next usage frame, which has no answer. `missing`: the number of kept samples, absent for none. */
  usage: (usage: Usage, missing?: number) => string;
  /** Returns the frame with kept samples. */
  missingUsage: (missing: MissingUsage) => string;
  /** Returns a frame about questions. */
  signed: SignFrame;
}

const KEY_BYTES = 32;
/** The bytes of the MAC that are sent: HEARTBEAT_MAC_LENGTH characters. */
const MAC_BYTES = 16;

export function makeSessionKeys(): SessionKeys {
  const { publicKey, privateKey } = generateKeyPairSync("x25519");
  return { publicKey: publicKey.export({ format: "jwk" }).x ?? "", privateKey };
}

/** Starts a session with the Worker's offer; null if the offer has no valid key. */
export function startSession(name: string, keys: SessionKeys, offered: OfferedSession): SocketSession | null {
  const hmacKey = sharedKey(name, keys, offered.key);
  if (hmacKey === null) return null;
  let { nonce } = offered;
  let n = 0;
  let usages = 0;
  const withMac = (payload: string, protectedText: string) => {
    const mac = createHmac("sha256", hmacKey).update(protectedText).digest();
    return `${payload}\n${mac.toString("base64url", 0, MAC_BYTES)}`;
  };
  const usageFrame = (frame: UsageFrame | MissingUsageFrame) => {
    const payload = JSON.stringify(frame);
    return withMac(payload, usageText(payload));
  };
  return {
    heartbeat({ at, available, remainingSeconds }) {
      n++;
      const heartbeat: HeartbeatFrame = {
        type: "heartbeat",
        n,
        at,
        available,
        ...(remainingSeconds && { remainingSeconds }),
      };
      const payload = JSON.stringify(heartbeat);
      return withMac(payload, heartbeatText(nonce, payload));
    },
    answered(answer) {
      if (answer.n !== n) return false;
      nonce = answer.nonce;
      return true;
    },
    usage: (usage, missing = 0) =>
      usageFrame({ type: "usage", n: ++usages, amounts: amountsOf(usage), ...(missing > 0 && { missing }) }),
    missingUsage: (missing) => usageFrame({ type: MISSING_USAGE, n: ++usages, ...missing }),
    signed(frame) {
      const payload = JSON.stringify(frame);
      return withMac(payload, answerText(payload));
    },
  };
}

function sharedKey(name: string, { publicKey, privateKey }: SessionKeys, workerKey: string): Buffer | null {
  try {
    const worker = createPublicKey({ key: { kty: "OKP", crv: "X25519", x: workerKey }, format: "jwk" });
    const secret = diffieHellman({ privateKey, publicKey: worker });
    return Buffer.from(hkdfSync("sha256", secret, "", sessionInfo(name, publicKey, workerKey), KEY_BYTES));
  } catch {
    // The offered key is no point of the curve, or a point that makes all secrets equal.
    return null;
  }
}
