// Encrypts an answer to an operator's key, and opens it: HPKE (RFC 9180) with X25519, HKDF-SHA256 and AES-256-GCM. The Worker
// between both can neither read nor change it, nor leave out, repeat or reorder a part of it.
//
// The answer is messages with a length, as gRPC has them. The first is JSON: the machine's public key, the encapsulated
// secret, and the machine's signature of secret and question. The others are encrypted: the parts, then the end as JSON.
import { base64url, calculateJwkThumbprint, type CryptoKey } from "jose";
import { AEAD_AES_256_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_X25519_HKDF_SHA256 } from "hpke";
import { answerEndSchema } from "../../shared/protocol/asking.ts";
import { QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import { sealText } from "../../shared/protocol/question-proof.ts";
import type { AnswerEnd } from "../../shared/protocol/questions.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { deframer, frame } from "./grpc/frames.ts";

const suite = () => new CipherSuite(KEM_DHKEM_X25519_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_256_GCM);
const utf8 = (text: string) => new TextEncoder().encode(text);
/** The first byte of each encrypted message. */
const [PART, END] = [0, 1];
/** The bytes that a message may have beyond those of a part: encryption adds some. */
const MORE_BYTES = 8 * 1024;

/** What seals an answer of this machine. */
export interface Sealing {
  /** The public key of the operator. */
  sealTo: string;
  /** The text that the operator has signed (proofText). */
  proved: string;
  /** The machine's key (Ed25519). */
  key: { signing: CryptoKey; publicJwk: { x: string } };
}

/** Encrypts the parts of an answer and its end. Returns the end without its fault, for the Worker. */
export async function* sealed(
  chunks: AsyncGenerator<Uint8Array, AnswerEnd>,
  { sealTo, proved, key }: Sealing,
): AsyncGenerator<Uint8Array, AnswerEnd> {
  const own = suite();
  try {
    const recipient = await own.DeserializePublicKey(base64url.decode(sealTo));
    const { encapsulatedSecret, ctx } = await own.SetupSender(recipient, { info: utf8(proved) });
    const encapsulated = base64url.encode(encapsulatedSecret);
    const signed = utf8(sealText(proved, encapsulated));
    const signature = await crypto.subtle.sign("Ed25519", key.signing, signed);
    const seal = async (type: number, bytes: Uint8Array) =>
      frame(Buffer.from(await ctx.Seal(Buffer.concat([Buffer.of(type), bytes]))));
    const head = {
      key: key.publicJwk.x,
      encapsulated,
      signature: base64url.encode(new Uint8Array(signature)),
    };
    yield frame(Buffer.from(JSON.stringify(head)));
    for (;;) {
      const { done, value } = await chunks.next();
      if (done) {
        yield await seal(END, utf8(JSON.stringify(value)));
        return "fault" in value ? { reason: "failed", fault: "the reason is sealed" } : value;
      }
      for (let at = 0; at < value.length; at += QUESTION_LIMITS.chunkBytes)
        yield await seal(PART, value.subarray(at, at + QUESTION_LIMITS.chunkBytes));
    }
  } finally {
    void chunks.return({ reason: "gone" }).catch(() => undefined);
  }
}

/** What an operator has for one sealed answer. */
export interface Unsealing {
  sealTo: string;
  /** Returns what opens the answer to the question whose proofText is `proved`. */
  opener: (proved: string) => SealedAnswer;
}

/** Makes the key pair for one answer. */
export async function newUnsealing(): Promise<Unsealing> {
  const own = suite();
  const pair = await own.GenerateKeyPair();
  return {
    sealTo: base64url.encode(await own.SerializePublicKey(pair.publicKey)),
    opener: (proved) =>
      new SealedAnswer(proved, (encapsulated, info) => own.SetupRecipient(pair, encapsulated, { info })),
  };
}

type Context = Awaited<ReturnType<CipherSuite["SetupRecipient"]>>;

/** The content of a sealed answer. `machine`: the thumbprint of the key that has signed it, known before all parts. */
export type Opened = { machine: string } | { part: Uint8Array } | { end: AnswerEnd };

/** Opens one answer. After a failure, nothing more may be taken. */
export class SealedAnswer {
  readonly #proved: string;
  readonly #setUp: (encapsulated: Uint8Array, info: Uint8Array) => Promise<Context>;
  readonly #messages: Buffer[] = [];
  readonly #deframer = deframer(
    (message) => void this.#messages.push(message),
    QUESTION_LIMITS.chunkBytes + MORE_BYTES,
  );
  #context: Context | null = null;

  constructor(proved: string, setUp: (encapsulated: Uint8Array, info: Uint8Array) => Promise<Context>) {
    this.#proved = proved;
    this.#setUp = setUp;
  }

  /** Takes bytes of the answer. Fails if another than the machine has made or changed them. */
  async take(bytes: Uint8Array): Promise<Result<Opened[]>> {
    const fault = this.#deframer.push(Buffer.from(bytes));
    const opened: Opened[] = [];
    try {
      for (const message of this.#messages.splice(0)) opened.push(await this.#open(message));
    } catch {
      return failure("the answer was changed on its way");
    }
    return fault === null ? success(opened) : failure("the answer is not sealed");
  }

  async #open(message: Buffer): Promise<Opened> {
    if (this.#context === null) return { machine: await this.#begin(message) };
    const opened = await this.#context.Open(message);
    if (opened[0] === PART) return { part: opened.subarray(1) };
    return { end: answerEndSchema.parse(JSON.parse(new TextDecoder().decode(opened.subarray(1)))) };
  }

  /** Checks the signature of the first message. Returns the thumbprint of its key. */
  async #begin(message: Buffer): Promise<string> {
    const { key: x, encapsulated, signature } = JSON.parse(message.toString()) as Record<string, string>;
    const jwk = { kty: "OKP", crv: "Ed25519", x: x! };
    const key = await crypto.subtle.importKey("jwk", jwk, "Ed25519", true, ["verify"]);
    const text = utf8(sealText(this.#proved, encapsulated!));
    const isSigned = await crypto.subtle.verify("Ed25519", key, base64url.decode(signature!), text);
    if (!isSigned) throw new Error("another signature");
    this.#context = await this.#setUp(base64url.decode(encapsulated!), utf8(this.#proved));
    return calculateJwkThumbprint(jwk);
  }
}
