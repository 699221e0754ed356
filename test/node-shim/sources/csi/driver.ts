// Starts CSI drivers like those of vendors, with grpc-js and hand-written bytes, which share no code with the shim.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { onTestFinished } from "vitest";

export interface DriverWish {
  /** The type in the driver's registration. CSIPlugin by default. */
  type?: string;
  name: string;
  endpoint?: string;
  /** The bytes of the varint max_volumes_per_node. Absent: the field is omitted. */
  limit?: number[];
  /** The way in which NodeGetInfo fails. Absent: NodeGetInfo answers. */
  fails?: "hangs" | "error";
}

/** Makes a kubelet's folder that contains the folder where drivers register. */
export function kubeletFolder(): string {
  const rootDir = mkdtempSync(join(tmpdir(), "csi-"));
  onTestFinished(() => rmSync(rootDir, { recursive: true, force: true }));
  mkdirSync(join(rootDir, "plugins_registry"));
  return rootDir;
}

/** Starts a driver whose registration and methods are on one socket. `calls` collects the name of each call. */
export async function serveDriver(
  socketPath: string,
  wish: DriverWish,
  calls: string[] = [],
): Promise<() => void> {
  const text = (number: number, value: string) =>
    Buffer.concat([Buffer.from([(number << 3) | 2, Buffer.byteLength(value)]), Buffer.from(value)]);
  const { type = "CSIPlugin", name, endpoint = "", limit, fails } = wish;
  const info = Buffer.concat([text(1, type), text(2, name), text(3, endpoint), text(4, "1.0.0")]);
  const node = Buffer.concat([text(1, "node-1"), Buffer.from(limit ? [2 << 3, ...limit] : [])]);
  const server = new grpc.Server();
  const asIs = (bytes: Buffer) => bytes;
  const answering = (path: string, bytes: Buffer, failure?: DriverWish["fails"]) => {
    const definition = {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    };
    const handle = (call: grpc.ServerUnaryCall<Buffer, Buffer>, answer: grpc.sendUnaryData<Buffer>) => {
      if (failure === "hangs") call.on("cancelled", () => calls.push("cancelled"));
      calls.push(path.slice(path.lastIndexOf("/") + 1));
      if (failure === "error") answer({ code: grpc.status.UNAVAILABLE, details: "no metadata" });
      else if (failure === undefined) answer(null, bytes);
    };
    server.addService({ call: definition }, { call: handle });
  };
  answering("/pluginregistration.Registration/GetInfo", info);
  answering("/csi.v1.Node/NodeGetInfo", node, fails);
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${socketPath}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
  const stop = () => {
    server.forceShutdown();
    rmSync(socketPath, { force: true });
  };
  onTestFinished(stop);
  return stop;
}
