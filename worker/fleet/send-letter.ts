// Sends one message to a receiver, signed as Standard Webhooks has it (https://www.standardwebhooks.com). Follows no
// redirect, reads little of the answer, and never waits longer than its deadline.
import { NOTIFICATION_LIMITS } from "../../shared/protocol/limits.ts";
import { printable } from "../../shared/protocol/printable.ts";
import type { PrivateWebhooks } from "../env.ts";
import { withDeadline } from "../kube/deadline.ts";
import { retryAfterMs } from "./alert-rules.ts";
import type { Letter } from "./letters.ts";
import type { ReceiverTarget } from "./receivers.ts";
import { webhookAddress } from "./webhook-address.ts";

export interface LetterOutcome {
  arrived: boolean;
  /** HTTP's; null: there was no answer. */
  status: number | null;
  /** How the answer begins, or why there is none. */
  answer: string;
  /** How long it asks to wait before the next attempt. */
  retryAfterMs: number;
}

/** How letters leave. */
export interface LetterSurroundings {
  /** Typically fetch. */
  send: (url: string, init: RequestInit) => Promise<Response>;
  allowed: PrivateWebhooks;
  nowMs: () => number;
  /** Of a request with its answer. Typically LETTER_WITHIN_MS. */
  withinMs: number;
}

export const LETTER_WITHIN_MS = 10_000;

export async function sendLetter(
  { send, allowed, nowMs, withinMs }: LetterSurroundings,
  { url, authorization, secret }: ReceiverTarget,
  { message, body }: Pick<Letter, "message" | "body">,
): Promise<LetterOutcome> {
  const failed = (answer: string): LetterOutcome => ({
    arrived: false,
    status: null,
    answer,
    retryAfterMs: 0,
  });
  // The deployment may allow less than when the receiver was made.
  const address = webhookAddress(url, allowed);
  if (!address.ok) return failed(`the address is refused: ${address.error}`);
  const timestamp = String(Math.floor(nowMs() / 1000));
  const headers = {
    "content-type": "application/json",
    "user-agent": "rollcall",
    "webhook-id": message,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${await signature(secret, `${message}.${timestamp}.${body}`)}`,
    ...(authorization !== "" && { authorization }),
  };
  const attempt = async (signal: AbortSignal): Promise<LetterOutcome> => {
    try {
      const response = await send(address.value, {
        method: "POST",
        headers,
        body,
        redirect: "manual",
        signal,
      });
      const { ok: arrived, status } = response;
      const answer = printable(await beginning(response));
      return {
        arrived,
        status,
        answer,
        retryAfterMs: retryAfterMs(response.headers.get("retry-after"), nowMs()),
      };
    } catch (error) {
      return failed(String(error));
    }
  };
  return withDeadline(withinMs, attempt, failed(`no answer within ${withinMs / 1000} s`));
}

/** HMAC-SHA-256 with what stands behind `whsec_`, in base64. */
async function signature(secret: string, signed: string): Promise<string> {
  const bytes = (text: string) => Uint8Array.from(text, (each) => each.charCodeAt(0));
  const raw = bytes(atob(secret.replace("whsec_", "")));
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(signed));
  return btoa(String.fromCharCode(...new Uint8Array(mac)));
}

/** What a receiver answers may be endless. */
async function beginning(response: Response): Promise<string> {
  const most = NOTIFICATION_LIMITS.answerBytes;
  const reader = response.body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder();
  let [text, read] = ["", 0];
  while (read < most) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += decoder.decode(value.subarray(0, most - read), { stream: true });
    read += value.length;
  }
  await reader.cancel();
  return text;
}
