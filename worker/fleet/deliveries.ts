// Stores and sends deliveries: messages that wait for their receiver, in order, and dead deliveries, which are not
// retried. A delivery that arrives is deleted. Messages are signed as Standard Webhooks demands
// (https://www.standardwebhooks.com).
import { contains, parseCidr } from "../../shared/kubernetes/cidr.ts";
import { isAddressInDisguise } from "../../shared/kubernetes/dns-names.ts";
import { isIpv4, isLoopback, parseIp } from "../../shared/kubernetes/ip.ts";
import { NOTIFICATION_LIMITS as LIMIT } from "../../shared/protocol/limits.ts";
import { printable } from "../../shared/protocol/printable.ts";
import type { ListedLetter } from "../../shared/protocol/receiver-answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { Timer } from "../clock.ts";
import type { PrivateWebhooks } from "../env.ts";
import { withDeadline } from "../kube/deadline.ts";
import { cell, column, hasRow } from "../storage/query.ts";
import { GIVEN_UP_MS, type ReceiverTarget } from "./receivers.ts";

type DeliveryRow = {
  id: number;
  receiver: string;
  /** The message's ID in the header `webhook-id`. Each attempt to deliver the message sends the same ID. */
  message: string;
  body: string;
  made_ms: number;
  dead: number;
  /** The ID of the delivery that must arrive first: a resolution is sent only if its alert's message arrived. */
  follows: number | null;
  error: string;
};
type Delivery = Pick<DeliveryRow, "id" | "receiver" | "message" | "body">;

/** The `follows` of a repetition of an arrived message. A failed repetition's delivery is deleted, not kept as dead. */
export const REPETITION = 0;

/** Takes the place of a delivery's ID if the delivery of an alert died and its row was deleted. */
export const LOST_DELIVERY = -1;

export class Deliveries {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Adds a delivery; returns its ID. The new delivery is dead if the delivery `follows` is; `resend` sends both. */
  add(delivery: Omit<Delivery, "id">, nowMs: number, follows: number | null): number {
    const insert = "INSERT INTO letters VALUES (NULL, ?, ?, ?, ?, ?, ?, ?) RETURNING id";
    const { receiver, message, body } = delivery;
    const isDead = this.isDead(receiver, follows);
    const [dead, error] = isDead ? [1, `letter ${follows} did not arrive`] : [0, ""];
    const id = cell<number>(this.#sql, insert, receiver, message, body, nowMs, dead, follows, error);
    if (!isDead) this.#start(receiver, nowMs);
    return id;
  }

  /** Returns the delivery that the receiver gets next. */
  first(receiver: string): Delivery | undefined {
    const query =
      "SELECT id, receiver, message, body FROM letters WHERE receiver = ? AND dead = 0 ORDER BY id LIMIT 1";
    return this.#sql.exec<Delivery>(query, receiver).toArray()[0];
  }

  waiting(receiver: string): { count: number; bytes: number } {
    const query =
      "SELECT COUNT(*) AS count, IFNULL(SUM(LENGTH(CAST(body AS BLOB))), 0) AS bytes FROM letters WHERE receiver = ? AND dead = 0";
    return this.#sql.exec<{ count: number; bytes: number }>(query, receiver).one();
  }

  /** Reports whether the receiver has so many waiting deliveries that a new alert must wait as well. */
  isFull(receiver: string): boolean {
    const { count, bytes } = this.waiting(receiver);
    return count >= LIMIT.lettersWaiting || bytes >= LIMIT.bytesWaiting;
  }

  /** Reports whether the delivery waits or is dead. */
  isKept(id: number): boolean {
    return hasRow(this.#sql, "SELECT 1 FROM letters WHERE id = ?", id);
  }

  isDead(receiver: string, id: number | null): boolean {
    return hasRow(
      this.#sql,
      "SELECT 1 FROM letters WHERE id = ? AND receiver = ? AND dead = 1",
      id,
      receiver,
    );
  }

  dead(receiver: string): number {
    return cell(this.#sql, "SELECT COUNT(*) FROM letters WHERE receiver = ? AND dead = 1", receiver);
  }

  arrived(id: number): void {
    this.#sql.exec("DELETE FROM letters WHERE id = ?", id);
  }

  /** Marks a delivery and the deliveries that follow it as dead. */
  die({ id, receiver }: Pick<Delivery, "id" | "receiver">, error: string): void {
    this.#sql.exec("DELETE FROM letters WHERE id = ? AND follows = ?", id, REPETITION);
    const update = "UPDATE letters SET dead = 1, error = ? WHERE receiver = ? AND ? IN (id, follows)";
    this.#sql.exec(update, error, receiver, id);
    this.prune(receiver);
  }

  /** Marks deliveries as dead that have waited for GIVEN_UP_MS. */
  dieOfAge(receiver: string, error: string, nowMs: number): void {
    const old =
      "SELECT id, receiver FROM letters WHERE receiver = ? AND dead = 0 AND made_ms <= ? ORDER BY id";
    for (const delivery of this.#sql.exec<Delivery>(old, receiver, nowMs - GIVEN_UP_MS).toArray())
      this.die(delivery, error);
  }

  list(receiver: string): ListedLetter[] {
    const query = "SELECT * FROM letters WHERE receiver = ? ORDER BY dead DESC, id LIMIT ?";
    return this.#sql
      .exec<DeliveryRow>(query, receiver, LIMIT.deadLetters * 2)
      .toArray()
      .map(({ id, message, made_ms, dead, error, body }) => ({
        id,
        message,
        madeAt: new Date(made_ms).toISOString(),
        state: dead === 1 ? "dead" : "waiting",
        error,
        body,
      }));
  }

  /** Sends a dead delivery and those linked by `follows` again, in order. Returns false if the delivery is not dead. */
  resend(receiver: string, id: number, nowMs: number): boolean {
    const query = `UPDATE letters SET dead = 0, error = '', made_ms = ?3 WHERE receiver = ?1 AND dead = 1
      AND IFNULL(follows, id) = (SELECT IFNULL(follows, id) FROM letters WHERE id = ?2 AND receiver = ?1 AND dead = 1)
      RETURNING id`;
    const isFound = hasRow(this.#sql, query, receiver, id, nowMs);
    if (isFound) this.#start(receiver, nowMs);
    return isFound;
  }

  /** Makes the receiver's next delivery due now, unless the receiver waits for the retry of a failed delivery. */
  #start(receiver: string, nowMs: number): void {
    this.#sql.exec("UPDATE receivers SET next_ms = IFNULL(next_ms, ?) WHERE name = ?", nowMs, receiver);
  }

  /** Deletes the oldest dead deliveries beyond the limit. Call prune once all deliveries that follow them are added. */
  prune(receiver: string): void {
    const surplus = this.dead(receiver) - LIMIT.deadLetters;
    if (surplus <= 0) return;
    const query = `DELETE FROM letters WHERE receiver = ?1 AND dead = 1 AND IFNULL(follows, id) IN (SELECT first FROM
      (SELECT IFNULL(follows, id) AS first, SUM(COUNT(*)) OVER (ORDER BY MIN(id)) - COUNT(*) AS older
       FROM letters WHERE receiver = ?1 AND dead = 1 GROUP BY first) WHERE older < ?2) RETURNING id`;
    const gone = column<number>(this.#sql, query, receiver, surplus);
    this.#sql.exec("UPDATE receivers SET dropped = dropped + ? WHERE name = ?", gone.length, receiver);
    const lost = `UPDATE alerts SET letter = ${LOST_DELIVERY} WHERE letter IN (SELECT value FROM json_each(?))`;
    this.#sql.exec(lost, JSON.stringify(gone));
  }
}

export interface DeliveryOutcome {
  arrived: boolean;
  /** The HTTP status; null if the receiver did not answer. */
  status: number | null;
  /** The beginning of the answer, or the reason why no answer arrived. */
  answer: string;
  /** The wait before the next attempt that the answer's Retry-After requests, in milliseconds; 0 without one. */
  retryAfterMs: number;
}

export interface SendDependencies {
  /** Sends an HTTP request; typically fetch. */
  send: (url: string, init: RequestInit) => Promise<Response>;
  allowed: PrivateWebhooks;
  nowMs: () => number;
  /** The deadline for the beginning of the answer; typically DELIVERY_WITHIN_MS. */
  withinMs: number;
  /** The object's timer. */
  timer: Timer | undefined;
}

export const DELIVERY_WITHIN_MS = 10_000;
/** The time for reading the answer's body, as a share of `withinMs`. */
const ANSWER_SHARE = 0.2;

export async function sendDelivery(
  { send, allowed, nowMs, withinMs, timer }: SendDependencies,
  { url, authorization, secret }: ReceiverTarget,
  { message, body }: Pick<Delivery, "message" | "body">,
): Promise<DeliveryOutcome> {
  const failed = (answer: string) => ({ arrived: false, status: null, answer, retryAfterMs: 0 });
  // PRIVATE_WEBHOOKS may have changed since the receiver was created, so each delivery checks the address again.
  const address = webhookAddress(url, allowed);
  if (!address.ok) return failed(`the address is refused: ${address.error}`);
  const attempt = async (signal: AbortSignal): Promise<Response | string> => {
    try {
      const timestamp = String(Math.floor(nowMs() / 1000));
      const headers = {
        "content-type": "application/json",
        "user-agent": "rollcall",
        "webhook-id": message,
        "webhook-timestamp": timestamp,
        "webhook-signature": `v1,${await signature(secret, `${message}.${timestamp}.${body}`)}`,
        ...(authorization !== "" && { authorization }),
      };
      return await send(address.value, { method: "POST", headers, body, redirect: "manual", signal });
    } catch (error) {
      return String(error);
    }
  };
  const response = await withDeadline(withinMs, attempt, `no answer within ${withinMs / 1000} s`, timer);
  if (typeof response === "string") return failed(response);
  const { ok: arrived, status, headers } = response;
  const wishedMs = retryAfterMs(headers.get("retry-after"), nowMs());
  const answer = printable(await beginning(response, withinMs * ANSWER_SHARE, timer));
  return { arrived, status, answer, retryAfterMs: wishedMs };
}

/** Returns the HMAC-SHA-256 of `signed` in base64. The key is the part of `secret` after `whsec_`. */
async function signature(secret: string, signed: string): Promise<string> {
  const raw = Uint8Array.from(atob(secret.replace("whsec_", "")), (each) => each.charCodeAt(0));
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(signed));
  return btoa(String.fromCharCode(...new Uint8Array(mac)));
}

/** Returns the beginning of a response's body. An endless or broken body is no error: the status is known. */
async function beginning(response: Response, withinMs: number, timer: Timer | undefined): Promise<string> {
  const most = LIMIT.answerBytes;
  const reader = response.body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder();
  let [text, read] = ["", 0];
  const readOn = async () => {
    while (read < most) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value.subarray(0, most - read), { stream: true });
      read += value.length;
    }
  };
  await withDeadline(withinMs, () => readOn().catch(() => undefined), undefined, timer);
  // The code does not wait for the cancellation, which may never end.
  void reader.cancel().catch(() => undefined);
  return text;
}

/** Returns the wait of a Retry-After, in seconds or as a date (RFC 9110, 10.2.3); 0 without the header. */
function retryAfterMs(header: string | null, nowMs: number): number {
  const text = header ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  return Math.max(0, Date.parse(text) - nowMs) || 0;
}

/** Reports whether an answer with this status is final, so that later deliveries need not wait for a retry. */
export function isRefusedForGood(status: number | null): boolean {
  return REFUSED_FOR_GOOD.has(status);
}
const REFUSED_FOR_GOOD: ReadonlySet<number | null> = new Set([400, 413, 415, 422]);

const ranges = (texts: string) => texts.split(" ").flatMap((text) => parseCidr(text) ?? []);
/** Non-public addresses: IANA's special-purpose registry, and Azure's metadata service, whose address is public. */
const NOT_PUBLIC_V4 = ranges(
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3",
);
/** The range with all public IPv6 addresses; NOT_PUBLIC_V6 excludes its private parts, 6to4 and Teredo. */
const PUBLIC_V6 = ranges("2000::/3");
const NOT_PUBLIC_V6 = ranges("2001::/23 2001:db8::/32 2002::/16 3fff::/20");
/** Matches names outside public DNS, and names of clouds' metadata services. */
const NOT_PUBLIC_NAME =
  /^[^.]*$|(^|\.)(localhost|local|localdomain|internal|intranet|lan|home\.arpa|svc|corp|private)$/;

/** Returns a webhook's normalized address. Fails if the address is not public and not allowed. Resolves no name. */
export function webhookAddress(text: string, allowed: PrivateWebhooks): Result<string> {
  const url = URL.parse(text);
  if (!url) return failure("not a URL");
  if (url.username !== "" || url.password !== "")
    return failure("a name or password in it: use `authorization` instead");
  // The URL parser has normalized all spellings of an IPv4 address (0x7f.1, 2130706433, 017700000001).
  const host = url.hostname.replace(/\.+$/, "").toLowerCase();
  const isAllowed = allowed === "on" || (allowed === "loopback" && isThisComputer(host));
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isAllowed)) return failure("not https://");
  if (!isAllowed && !isPublic(host))
    return failure("an address that is private, or a metadata service's (docs/notifications.md)");
  return success(url.href);
}

function isThisComputer(host: string): boolean {
  const ip = parseIp(unbracketed(host));
  return host === "localhost" || (ip !== null && isLoopback(ip));
}

function isPublic(host: string): boolean {
  const ip = parseIp(unbracketed(host));
  if (ip === null) return !host.startsWith("[") && !NOT_PUBLIC_NAME.test(host) && !isAddressInDisguise(host);
  const isIn = (ranges: typeof PUBLIC_V6) => ranges.some((range) => contains(range, ip));
  if (isIpv4(ip)) return !isIn(NOT_PUBLIC_V4);
  return isIn(PUBLIC_V6) && !isIn(NOT_PUBLIC_V6);
}

const unbracketed = (host: string) => host.replaceAll(/[[\]]/g, "");
