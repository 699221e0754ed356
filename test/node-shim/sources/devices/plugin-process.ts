// A device plugin as vendors write them, with grpc-js and bytes by hand: shares no code with the shim. Started by
// plugin.ts; what it is told comes as messages.
import * as grpc from "@grpc/grpc-js";

interface Registration {
  resourceName: string;
  endpoint: string;
  version: string;
}
export type Order = { register: Registration } | { devices: [ID: string, health: string][] } | { end: true };
/** null: the plugin may show its devices. */
export interface Told {
  error: string | null;
}

const [folder = "", endpoint = ""] = process.argv.slice(2);
const streams = new Set<grpc.ServerWritableStream<Buffer, Buffer>>();
let listed: Buffer = Buffer.alloc(0);

/** A length-delimited field of protobuf; none is longer than 16 KiB here. */
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

function register(registration: Registration): void {
  const client = new grpc.Client(`unix://${folder}/kubelet.sock`, grpc.credentials.createInsecure());
  const { version, endpoint: at, resourceName } = registration;
  const request = Buffer.concat([field(1, version), field(2, at), field(3, resourceName)]);
  client.makeUnaryRequest("/v1beta1.Registration/Register", asIs, asIs, request, (error) => {
    client.close();
    process.send?.({ error: error ? error.details : null } satisfies Told);
  });
}

process.on("message", (order: Order) => {
  if ("register" in order) register(order.register);
  else if ("end" in order) for (const stream of streams) stream.end();
  else {
    const devices = order.devices.map(([ID, health]) => Buffer.concat([field(1, ID), field(2, health)]));
    listed = Buffer.concat(devices.map((device) => field(1, device)));
    for (const stream of streams) stream.write(listed);
  }
});
process.on("disconnect", () => process.exit());
server.bindAsync(`unix://${folder}/${endpoint}`, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
  process.send?.({ error: null } satisfies Told);
});
