// Takes kubelet.sock, where device plugins register, if no kubelet has it. Gives the socket up if a kubelet takes it.
import { lstat, readdir, rename, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { after } from "../../base/clock.ts";
import { codeOf } from "../../base/fault.ts";
import { oneAtATime } from "../../base/one-at-a-time.ts";
import { valueOr } from "../../../shared/result.ts";
import { type Opened, openTrusted, type OpenTrusted } from "../../base/ownership.ts";
import { grpcServer, type Served } from "../../wire/grpc/server.ts";

const SOCKET = "kubelet.sock";
/** The name that the server binds before the renaming, because a closing server removes the path that it bound. */
const UNNAMED = "shim.sock";
/** The file that a kubelet keeps in the folder: upstream kubeletDeviceManagerCheckpoint. */
const CHECKPOINT = "kubelet_internal_checkpoint";
/** The most bytes of a socket's path: sockaddr_un has 108 bytes, the last of which is NUL. */
export const SOCKET_PATH_BYTES = 107;
/** The longest wait to connect. No answer counts as taken: a stopped process keeps its socket but does not accept. */
const CONNECT_GIVE_UP_MS = 2000;
/** The longest wait for the socket's file: its file system may hang. */
const OWNER_GIVE_UP_MS = 2000;

export interface RegistrationSocket {
  /** Returns the present owner of the socket file. */
  owner: () => Promise<"us" | "nobody" | "another process">;
  close: () => Promise<void>;
}

/** Takes the socket, or throws with owner and remedy. Removes the folder's other sockets: plugins register again. */
export async function takeRegistrationSocket(
  folder: string, // typically /var/lib/kubelet/device-plugins
  methods: readonly Served[],
  open: OpenTrusted = openTrusted,
): Promise<RegistrationSocket> {
  const path = join(folder, SOCKET);
  if (Buffer.byteLength(path) > SOCKET_PATH_BYTES)
    throw new Error(
      `--device-plugins ${folder}: too long for a socket, at most ${SOCKET_PATH_BYTES} bytes with /${SOCKET}`,
    );
  const server = grpcServer(methods);
  let opened: Opened | undefined;
  try {
    const trusted = open(folder, "folder", { makeMode: 0o750 });
    if (!trusted.ok) throw new Error(`--device-plugins ${folder} is not trusted: ${trusted.error}`);
    opened = trusted.value;
    const { at } = opened;
    await refuseKubelet(folder, opened);
    await removeSockets(opened);
    await server.listen(at(UNNAMED));
    const { ino } = await lstat(at(UNNAMED));
    await rename(at(UNNAMED), at(SOCKET));
    const end = async () => {
      await server.close();
      if ((await ownerOf(at(SOCKET), ino)) === "us") await rm(at(SOCKET), { force: true });
      trusted.value.close();
    };
    let ended: Promise<void> | undefined;
    // Plugins find the socket by its path, which may lead to another folder by now.
    const owner = oneAtATime("the check of", (file) => ownerOf(file, ino), OWNER_GIVE_UP_MS);
    // A folder that does not answer shows no other owner.
    return { owner: async () => valueOr(await owner(path), "us"), close: () => (ended ??= end()) };
  } catch (error) {
    await server.close();
    opened?.close();
    if (!(error as NodeJS.ErrnoException).code) throw error;
    throw new Error(
      `--device-plugins ${folder} cannot be used (${codeOf(error)}): pass another folder, or run as a user who may write there`,
      { cause: error },
    );
  }
}

async function refuseKubelet(folder: string, { at }: Opened): Promise<void> {
  if (await answers(at(SOCKET)))
    throw new Error(
      `--device-plugins: a kubelet, or another shim, listens on ${join(folder, SOCKET)}: stop it, or leave the flag out`,
    );
  if (await exists(at(CHECKPOINT)))
    throw new Error(
      `--device-plugins: ${join(folder, CHECKPOINT)} is a kubelet's: remove it if none runs here any more, or leave the flag out`,
    );
}

/** Returns whether a process has the socket, even if the process does not accept connections. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const done = (answer: boolean) => {
      cancel();
      socket.destroy();
      resolve(answer);
    };
    const cancel = after(CONNECT_GIVE_UP_MS, () => done(true));
    socket.on("connect", () => done(true));
    socket.on("error", (error) => {
      const code = codeOf(error);
      // A path that is no socket results in ECONNREFUSED, but a socket with a full queue in EAGAIN.
      if (["ENOENT", "ECONNREFUSED"].includes(code)) done(false);
      else if (code === "EAGAIN") done(true);
      else reject(error);
    });
  });
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** Removes the sockets in the folder, as upstream CleanupPluginDirectory does. Keeps links to sockets. */
async function removeSockets({ at }: Opened): Promise<void> {
  for (const entry of await readdir(at("."), { withFileTypes: true })) {
    if (entry.isSocket()) await rm(at(entry.name), { force: true });
  }
}

async function ownerOf(path: string, ino: number): Promise<"us" | "nobody" | "another process"> {
  try {
    return (await lstat(path)).ino === ino ? "us" : "another process";
  } catch {
    return "nobody";
  }
}
