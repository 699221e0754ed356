// Starts a real dbus-daemon for a test, and made-up services on it.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { join } from "node:path";
import { messageReader } from "../../../../../node-shim/wire/dbus/bus.ts";
import {
  encodeMessage,
  type BusMessage,
  MESSAGE,
  type Value,
} from "../../../../../node-shim/wire/dbus/wire.ts";

/** true if dbus-daemon is installed, which is in Debian's package dbus or dbus-daemon. */
export const hasDbusDaemon = spawnSync("dbus-daemon", ["--version"]).status === 0;
export const WITHOUT_DBUS = "dbus-daemon is not on PATH: install the package dbus";

export interface Daemon {
  address: string;
  stop: () => Promise<void>;
}

export async function startDaemon(folder: string): Promise<Daemon> {
  const path = join(folder, "bus");
  const config = join(folder, "bus.conf");
  writeFileSync(
    config,
    `<busconfig>
      <type>system</type>
      <listen>unix:path=${path}</listen>
      <auth>EXTERNAL</auth>
      <policy context="default">
        <allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
        <allow send_type="signal"/><allow send_requested_reply="true" send_type="method_return"/>
        <allow send_requested_reply="true" send_type="error"/>
      </policy>
    </busconfig>`,
  );
  const args = [`--config-file=${config}`, "--nofork", "--nopidfile", "--print-address"];
  const child: ChildProcess = spawn("dbus-daemon", args, { stdio: ["ignore", "pipe", "ignore"] });
  if (child.stdout) await once(child.stdout, "data");
  return {
    address: `unix:path=${path}`,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

type OnBus = Pick<BusMessage, "path" | "interface" | "member"> & Partial<BusMessage>;

export interface Peer {
  emit: (signal: OnBus) => void;
  leave: () => void;
}

const DBUS = "org.freedesktop.DBus";

/**
 * Joins the bus as a member that owns the bus name `name`, or no bus name if `name` is empty. The member answers the
 * calls in `answers`.
 */
export async function joinBus(
  { address }: Pick<Daemon, "address">,
  name = "",
  answers: Record<string, (call: BusMessage) => Pick<BusMessage, "signature" | "body">> = {},
): Promise<Peer> {
  const socket: Socket = createConnection({ path: address.slice("unix:path=".length) });
  let serial = 0;
  const send = (message: Omit<BusMessage, "serial">) =>
    void socket.write(encodeMessage({ ...message, serial: ++serial }));
  const toBus = (member: string, signature: string, body: Value[]) =>
    send({ type: MESSAGE.call, destination: DBUS, path: "/", interface: DBUS, member, signature, body });
  const settled = Promise.withResolvers<void>();
  const isSettled = name === "" ? 1 : 2;
  const read = messageReader(
    () => {
      socket.write("BEGIN\r\n");
      toBus("Hello", "", []);
      if (name !== "") toBus("RequestName", "su", [name, 4]);
    },
    (message) => {
      if (message.replySerial === isSettled) settled.resolve();
      if (message.type !== MESSAGE.call) return;
      const answer = answers[message.member ?? ""]?.(message);
      const reply = { destination: message.sender, replySerial: message.serial };
      if (answer) send({ type: MESSAGE.answer, ...reply, ...answer });
      else send({ type: MESSAGE.error, ...reply, errorName: `${DBUS}.Error.UnknownMethod`, body: [] });
    },
  );
  socket.on("connect", () => {
    const uid = Buffer.from(String(process.geteuid?.())).toString("hex");
    socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
  });
  socket.on("data", read);
  socket.on("error", () => undefined);
  await settled.promise;
  return {
    emit: (signal) => send({ type: MESSAGE.signal, body: [], ...signal }),
    leave: () => void socket.destroy(),
  };
}

const LOGIN1 = "org.freedesktop.login1";

/** Joins the bus as the part of logind that announces shutdowns. */
export async function joinAsLogind(daemon: Daemon, name = LOGIN1) {
  let isPreparing = false;
  let asked = Promise.withResolvers<void>();
  const get = () => {
    asked.resolve();
    return { signature: "v", body: [isPreparing] };
  };
  const peer = await joinBus(daemon, name, { Get: get });
  return {
    ...peer,
    /** Resolves once a client has subscribed and asked whether a shutdown has begun. */
    asked: async () => {
      await asked.promise;
      asked = Promise.withResolvers<void>();
    },
    /** Sets whether a shutdown has begun, without sending a signal. */
    is: (shuttingDown: boolean) => void (isPreparing = shuttingDown),
    prepareForShutdown(shuttingDown: boolean, more: Partial<BusMessage> = {}): void {
      isPreparing = shuttingDown;
      const signal = { path: "/org/freedesktop/login1", interface: `${LOGIN1}.Manager` };
      const body = { signature: "b", body: [shuttingDown] };
      peer.emit({ ...signal, member: "PrepareForShutdown", ...body, ...more });
    },
  };
}
