// Plays a proxy on loopback for CONNECT, over plain sockets, which misbehaves as a test sets. The Worker behind the
// proxy has TLS, and a name that only the proxy can resolve.
import type { RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import selfsigned from "selfsigned";

/** A name that no resolver has (RFC 6761). */
export const WORKER_NAME = "worker.test";

export interface Pems {
  key: string;
  cert: string;
}

/** Makes a key and a self-signed certificate for a name. */
export async function selfSigned(name: string): Promise<Pems> {
  const names = [{ type: 2 as const, value: name }];
  const { private: key, cert } = await selfsigned.generate([{ name: "commonName", value: name }], {
    keyType: "ec",
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "subjectAltName", altNames: names },
    ],
  });
  return { key, cert };
}

export interface Asked {
  /** The host and port in the request: a.example:443 */
  target: string;
  /** The request's first line and headers. */
  head: string;
  socket: Socket;
  /** Answers 200, and connects the client to the Worker. */
  join: () => void;
}

export interface Listening {
  port: number;
  sockets: Set<Socket>;
  close: () => void;
}

/** Makes the server listen on loopback. `close` also ends open connections. */
export async function listening(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { port: (server.address() as AddressInfo).port, sockets, close };
}

/** Starts a proxy that calls `onConnect` for each CONNECT request. With `pems`, the proxy listens with TLS. */
export async function connectProxy(
  onConnect: (asked: Asked) => void,
  pems?: Pems,
): Promise<Listening & { asked: Asked[] }> {
  const asked: Asked[] = [];
  const onSocket = (socket: Socket) => {
    let head = "";
    const onData = (chunk: Buffer) => {
      head += chunk.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      socket.off("data", onData);
      const target = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head)?.[1] ?? "";
      const one = { target, head, socket, join: () => joinTo(target, socket) };
      asked.push(one);
      onConnect(one);
    };
    socket.on("error", () => undefined).on("data", onData);
  };
  const server = pems ? createTlsServer(pems, onSocket) : createServer(onSocket);
  return { ...(await listening(server)), asked };
}

/** Connects a client's socket to the Worker on loopback, whatever name the client requested. */
function joinTo(target: string, socket: Socket): void {
  const worker = connect(Number(target.split(":").at(-1)), "127.0.0.1");
  worker.on("error", () => socket.destroy()).once("close", () => socket.destroy());
  socket.once("close", () => worker.destroy());
  worker.once("connect", () => {
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    socket.pipe(worker).pipe(socket);
  });
}

/** Starts an HTTPS server. `servernames` has the names that clients requested (SNI). */
export async function tlsWorker(
  pems: Pems,
  listener: RequestListener,
): Promise<Listening & { servernames: string[]; resumed: boolean[] }> {
  const server = createHttpsServer(pems, listener);
  const servernames: string[] = [];
  const resumed: boolean[] = [];
  server.on("secureConnection", (socket) => {
    servernames.push(String(socket.servername));
    resumed.push(socket.isSessionReused());
  });
  return { ...(await listening(server)), servernames, resumed };
}
