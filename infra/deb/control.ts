// What dpkg is told of the package. Pure: texts from names, versions and sizes.

export const PACKAGE = "rollcall-node-shim";
const MAINTAINER = "rollcall <node-shim@rollcall.dev>";

/**
 * Architecture all, since nothing in it is of an architecture: one file installs on amd64, arm64 and whatever else has
 * a nodejs, and no two builds can differ.
 */
export function controlText({ version, sizeKib }: { version: string; sizeKib: number }): string {
  return `Package: ${PACKAGE}
Version: ${version}
Architecture: all
Maintainer: ${MAINTAINER}
Installed-Size: ${sizeKib}
Depends: nodejs (>= 20)
Pre-Depends: init-system-helpers (>= 1.54~)
Section: admin
Priority: optional
Description: reports this machine to Kubernetes as a Node, without a kubelet
 The shim gathers facts about the machine and posts them, signed, to a rollcall
 Worker, which keeps the machine's Node object in a cluster true: created,
 labelled, Ready or not, its lease renewed.
 .
 The machine holds no credential of the cluster and opens no port; all it needs
 is outbound HTTPS. After the installation, enrol it with "node-shim join".
`;
}

/** `date` is the build's. */
export function changelogText(version: string, date: Date): string {
  const rfc2822 = date.toUTCString().replace("GMT", "+0000");
  return `${PACKAGE} (${version}) unstable; urgency=medium

  * See the project's history for what has changed.

 -- ${MAINTAINER}  ${rfc2822}
`;
}

/** debian/copyright, machine-readable; `notices` are the licences of what is bundled. */
export function copyrightText(notices: string): string {
  const indented = notices
    .trimEnd()
    .split("\n")
    .map((line) => (line.trim() === "" ? " ." : ` ${line}`))
    .join("\n");
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: rollcall
Comment: dist/*.js bundle the libraries below, each under its own terms.
${indented}

Files: *
Copyright: the rollcall authors
License: Apache-2.0
 On Debian systems, the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
`;
}
