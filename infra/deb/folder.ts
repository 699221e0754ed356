// The files of the .tar.gz: one folder that runs where install.sh puts it, on systems without dpkg.
import { UNIT_NAME } from "../../node-shim/service/unit.ts";
import {
  type Build,
  fileOf,
  fillHome,
  manual,
  noticesOf,
  serviceUnit,
  settle,
  writerOf,
} from "./contents.ts";

/** Where install.sh keeps what it has unpacked: a folder for each release, and a link to the one in force. */
const HOME = "/opt/rollcall-node-shim/current";

export function fillFolder(build: Build): void {
  const { tree, root, epochSeconds } = build;
  const put = writerOf(tree);
  fillHome(tree, build);
  put("LICENSES.txt", noticesOf(build));
  put("man/node-shim.8.gz", manual(build));
  put(`systemd/${UNIT_NAME}`, serviceUnit(root, UNIT_NAME, `${HOME}/bin/node`, HOME));
  put("etc/kubelet.yaml", fileOf(root, "kubelet.yaml"));
  put("etc/node-shim.env", fileOf(root, "node-shim.env"));
  settle(tree, epochSeconds);
}
