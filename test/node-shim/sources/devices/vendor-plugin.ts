// Plays a device plugin like those of vendors, with grpc-js and hand-written bytes. Shares no code with the shim.
import { existsSync, linkSync, renameSync } from "node:fs";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { onTestFinished } from "vitest";

export interface VendorPlugin {
  /** Registers the plugin. Returns the text of the error; null if there is none. */
  register: (resourceName: string, more?: { endpoint?: string; version?: string }) => Promise<string | null>;
  /** Sends the list of devices. `devices` has the health of each device by its ID. */
  list: (devices: Record<string, string>) => void;
  /** Ends the plugin's streams with OK. */
  end: () => void;
  /** Ends the plugin like SIGKILL: its connections break, and its socket file stays. */
  kill: () => void;
}

/** Encodes a length-delimited field of protobuf. The value must be at most 16 KiB. */
function field(number: number, value: Buffer | string): Buffer {
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
}

const asIs = (bytes: Buffer) => bytes;
const method = (name: string, responseStream: boolean) => ({
  path: `/v1beta1.DevicePlugin/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
});

/** Starts a plugin. Resolves when it listens on `<folder>/<endpoint>`. */
export async function vendorPlugin(folder: string, endpoint: string): Promise<VendorPlugin> {
  const streams = new Set<grpc.ServerWritableStream<Buffer, Buffer>>();
  let listed: Buffer = Buffer.alloc(0);
  const server = new grpc.Server();
  server.addService(
    { options: method("GetDevicePluginOptions", false), listAndWatch: method("ListAndWatch", true) },
    {
      options: (_call: unknown, answer: grpc.sendUnaryData<Buffer>) => answer(null, Buffer.alloc(0)),
      listAndWatch: (stream: grpc.ServerWritableStream<Buffer, Buffer>) => {
        streams.add(stream);
        stream.on("cancelled", () => streams.delete(stream));
        stream.write(listed);
      },
    },
  );
  const socket = join(folder, endpoint);
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix://${socket}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
  onTestFinished(() => server.forceShutdown());
  return {
    register: (resourceName, { endpoint: at = endpoint, version = "v1beta1" } = {}) =>
      register(folder, Buffer.concat([field(1, version), field(2, at), field(3, resourceName)])),
    list(devices) {
      const each = Object.entries(devices).map(([ID, health]) =>
        field(1, Buffer.concat([field(1, ID), field(2, health)])),
      );
      listed = Buffer.concat(each);
      for (const stream of streams) stream.write(listed);
    },
    end() {
      for (const stream of streams) stream.end();
    },
    kill() {
      // Keeps the socket file, because Node.js removes the socket of a server that it closes. The shim may have
      // removed the file already.
      const isThere = existsSync(socket);
      if (isThere) linkSync(socket, `${socket}.kept`);
      server.forceShutdown();
      if (isThere) renameSync(`${socket}.kept`, socket);
    },
  };
}

function register(folder: string, request: Buffer): Promise<string | null> {
  const client = new grpc.Client(`unix://${folder}/kubelet.sock`, grpc.credentials.createInsecure());
  return new Promise((resolve) => {
    client.makeUnaryRequest("/v1beta1.Registration/Register", asIs, asIs, request, (error) => {
      client.close();
      resolve(error ? error.details : null);
    });
  });
}
