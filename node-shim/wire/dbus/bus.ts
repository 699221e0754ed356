// Connects to a D-Bus message bus: sends calls whose arguments are texts, and receives signals.
import { createConnection, type Socket } from "node:net";
import { failure, type Result, success } from "../../../shared/result.ts";
import { after } from "../../base/clock.ts";
import { faultOf } from "../../base/fault.ts";
import { connectTrusted } from "../../base/trusted-socket.ts";
import { type BusMessage, decodeMessage, encodeMessage, MESSAGE, type Value } from "./wire.ts";

interface BusCall {
  destination: string;
  path: string;
  interface: string;
  member: string;
  body?: readonly string[];
}

type Answer = Result<readonly Value[]>;

export interface Bus {
  /** Calls a method, and returns the values of the answer's body. Never rejects. */
  call: (call: BusCall) => Promise<Answer>;
  close: () => void;
  /** Resolves once the connection has ended, with the reason. */
  ended: Promise<string>;
}

/** The longest wait for an answer. A service that does not answer in this time counts as absent. */
const ANSWER_WITHIN_MS = 5000;

const SYSTEM_BUS = "unix:path=/run/dbus/system_bus_socket";
const DBUS = { destination: "org.freedesktop.DBus", path: "/org/freedesktop/DBus" };

/** Connects to the bus, authenticates as this user, and sends Hello. */
export async function connectBus(
  address: string | undefined, // typically DBUS_SYSTEM_BUS_ADDRESS; without one, the system's
  onSignal: (signal: BusMessage, bus: Bus) => void,
): Promise<Result<Bus>> {
  const path = socketPath(address ?? SYSTEM_BUS);
  if (path === null) return failure(`${address} is no address of a unix socket`);
  // The system's own bus belongs to the distribution's user of the bus.
  const isOwn = address === undefined || path.startsWith("\0");
  const socket = isOwn ? createConnection({ path }) : connectTrusted(path);
  const bus = busOn(socket, onSignal);
  const hello = { ...DBUS, interface: DBUS.destination, member: "Hello" };
  const answer = await bus.call(hello);
  if (answer.ok) return success(bus);
  bus.close();
  return failure(`${path.replace("\0", "@")}: ${answer.error}`);
}

/** Asks the bus to send the signals that match a rule. */
export function subscribe({ call }: Bus, rule: string): Promise<Answer> {
  return call({ ...DBUS, interface: DBUS.destination, member: "AddMatch", body: [rule] });
}

/** Returns the unique name of the connection that owns `name` at present. */
export function ownerOf({ call }: Bus, name: string): Promise<Answer> {
  return call({ ...DBUS, interface: DBUS.destination, member: "GetNameOwner", body: [name] });
}

/** Returns the socket's path in the first of several addresses; null if that address is no unix socket. */
export function socketPath(address: string): string | null {
  const [, kind, text] = /^unix:(?:[^;]*,)?(path|abstract)=([^;,]+)/.exec(address) ?? [];
  if (text === undefined) return null;
  try {
    return (kind === "abstract" ? "\0" : "") + decodeURIComponent(text);
  } catch {
    return null;
  }
}

function busOn(socket: Socket, onSignal: (signal: BusMessage, bus: Bus) => void): Bus {
  const waiting = new Map<number, (answer: Answer) => void>();
  const { promise: ended, resolve: end } = resolvable<string>();
  let serial = 0;
  /** The calls that wait until the bus has authenticated this user; null after the authentication. */
  let unsent: Buffer[] | null = [];
  const over = (why: string) => {
    end(why);
    for (const answer of waiting.values()) answer(failure(why));
    socket.destroy();
  };
  const bus: Bus = {
    call: ({ body = [], ...call }) =>
      new Promise((resolve) => {
        if (socket.destroyed) return resolve(failure("the connection was closed"));
        const mine = ++serial;
        const cancel = after(ANSWER_WITHIN_MS, () => finish(failure("no answer")), { ref: false });
        const finish = (answer: Answer) => {
          cancel();
          waiting.delete(mine);
          resolve(answer);
        };
        waiting.set(mine, finish);
        const signature = "s".repeat(body.length);
        const bytes = encodeMessage({ type: MESSAGE.call, serial: mine, ...call, signature, body });
        if (unsent === null) socket.write(bytes);
        else unsent.push(bytes);
      }),
    close: () => over("closed"),
    ended,
  };
  const authenticated = () => {
    socket.write(Buffer.concat([Buffer.from("BEGIN\r\n"), ...(unsent ?? [])]));
    unsent = null;
  };
  const read = messageReader(authenticated, (message) => {
    if (message.type === MESSAGE.signal) onSignal(message, bus);
    else waiting.get(message.replySerial ?? 0)?.(answerOf(message));
  });
  socket.on("connect", () =>
    socket.write(`\0AUTH EXTERNAL ${Buffer.from(String(userId())).toString("hex")}\r\n`),
  );
  socket.on("data", (bytes) => {
    try {
      read(bytes);
    } catch (error) {
      over(faultOf(error));
    }
  });
  socket.on("error", (error) => over(faultOf(error)));
  socket.on("close", () => over("the connection was closed"));
  // An open connection must not keep the process alive.
  socket.unref();
  return bus;
}

function answerOf({ type, body, errorName }: BusMessage): Answer {
  if (type === MESSAGE.answer) return success(body);
  return failure(typeof body[0] === "string" ? body[0] : (errorName ?? "an error without a name"));
}

/** Returns this user's ID; 0 on Windows, which has no user IDs and no system bus. */
const userId = () => process.geteuid?.() ?? 0;

/** Returns a promise and its `resolve`, as Promise.withResolvers does, which Node 20 lacks. */
function resolvable<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}

/** The most bytes of the line before the first message. */
const MAX_LINE_BYTES = 1024;

/** Returns a function that takes arriving bytes, and throws if they are not a bus's, or authentication is refused. */
export function messageReader(
  authenticated: () => void,
  received: (message: BusMessage) => void,
): (bytes: Buffer) => void {
  let waiting: Buffer = Buffer.alloc(0);
  let isAuthenticated = false;

  /** Reads the line before the first message. Returns false if the line is not complete yet. */
  function readLine(): boolean {
    const end = waiting.indexOf("\r\n");
    if (end < 0 && waiting.length > MAX_LINE_BYTES) throw new Error("this is no message bus");
    if (end < 0) return false;
    const line = waiting.toString("latin1", 0, end);
    if (!line.startsWith("OK ")) throw new Error(`not let in: ${line}`);
    waiting = waiting.subarray(end + 2);
    return true;
  }

  return (bytes) => {
    waiting = waiting.length === 0 ? bytes : Buffer.concat([waiting, bytes]);
    if (!isAuthenticated) {
      if (!readLine()) return;
      isAuthenticated = true;
      authenticated();
    }
    for (let next = decodeMessage(waiting); next; next = decodeMessage(waiting)) {
      waiting = next.rest;
      received(next.message);
    }
  };
}
