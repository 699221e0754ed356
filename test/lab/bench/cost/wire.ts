// Plays the network between machines and the Worker: TLS as on the internet, and a relay that counts its bytes. The
// headers of TCP and IP are computed, because loopback does not show them.
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { generate } from "selfsigned";

export interface WireCount {
  /** The bytes in both directions, TLS included, without the headers of TCP and IP. */
  bytes: number;
  /** The computed bytes of the TCP and IP headers. */
  headerBytes: number;
  connections: number;
}

export interface Wire {
  /** The Worker's origin for machines, `https://…`. */
  origin: string;
  /** The certificate, as PEM, of the authority that signed the origin's certificate. */
  authority: string;
  /** Sets the port to which connections go from now on. */
  leadTo: (port: number) => void;
  /** Returns the traffic since the last call. */
  take: () => WireCount;
  /** Ends the connections that were idle for more than `afterMs`. */
  cutIdle: (afterMs: number) => void;
  stop: () => void;
}

const HOST = "127.0.0.1";
/** The payload of a segment on an Ethernet, and its headers: IPv4, TCP, timestamps. */
export const SEGMENT = { payloadBytes: 1448, headerBytes: 52 } as const;
/** The number of segments without data per connection: three open it, and four end it. */
const HANDSHAKE_SEGMENTS = 7;

/** Returns the number of segments for these bytes in one direction, with one acknowledgement for two segments. */
export function segmentsOf(bytes: number): number {
  const carrying = Math.ceil(bytes / SEGMENT.payloadBytes);
  return carrying + Math.ceil(carrying / 2);
}

/** Starts the relay, which measures the idle time of connections by `nowMs`. */
export async function startWire(nowMs: () => number): Promise<Wire> {
  let workerPort = 0;
  const { private: key, cert } = await generate([{ name: "commonName", value: "worker.test" }], {
    keyType: "ec",
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "subjectAltName", altNames: [{ type: 7, ip: HOST }] },
    ],
  });
  const sockets = new Set<Socket>();
  const opened = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    return socket.once("close", () => sockets.delete(socket));
  };
  const join = (from: Socket, port: number, onData: (direction: string, bytes: number) => void) => {
    const to = opened(connect(port, HOST));
    opened(from);
    from.setNoDelay();
    to.setNoDelay();
    from.on("data", ({ length }: Buffer) => onData("up", length));
    to.on("data", ({ length }: Buffer) => onData("down", length));
    from.once("close", () => to.destroy());
    from.pipe(to).pipe(from);
  };
  let count: WireCount = { bytes: 0, headerBytes: 0, connections: 0 };
  const carried = (segments: number) => void (count.headerBytes += segments * SEGMENT.headerBytes);

  /**
   * The counter adds up flights. A flight is the data in one direction without an answer in between; all of its
   * segments but the last are full.
   */
  const counter = () => {
    let flight = { direction: "", bytes: 0 };
    carried(HANDSHAKE_SEGMENTS);
    count.connections++;
    return (direction: string, bytes: number) => {
      const before = flight.direction === direction ? flight.bytes : 0;
      flight = { direction, bytes: before + bytes };
      count.bytes += bytes;
      carried(segmentsOf(flight.bytes) - segmentsOf(before));
    };
  };
  const ended = createTlsServer({ key, cert }, (socket) => join(socket, workerPort, () => undefined));
  const tlsPort = await listen(ended);
  /** The time of the last data on each connection. */
  const usedMs = new Map<Socket, number>();
  const relay = createServer((socket) => {
    const counted = counter();
    usedMs.set(socket, nowMs());
    socket.once("close", () => usedMs.delete(socket));
    join(socket, tlsPort, (direction, bytes) => {
      usedMs.set(socket, nowMs());
      counted(direction, bytes);
    });
  });
  return {
    origin: `https://${HOST}:${await listen(relay)}`,
    authority: cert,
    leadTo: (port) => void (workerPort = port),
    take: () => {
      const taken = count;
      count = { bytes: 0, headerBytes: 0, connections: 0 };
      return taken;
    },
    cutIdle: (afterMs) => {
      for (const [socket, atMs] of usedMs) if (nowMs() - atMs > afterMs) socket.destroy();
    },
    stop: () => {
      for (const server of [relay, ended]) server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, HOST, resolve));
  return (server.address() as AddressInfo).port;
}
