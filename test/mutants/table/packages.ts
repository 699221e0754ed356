// What a machine installs is what was built, or nothing.
import { mutantsOf } from "../mutant.ts";

const INSTALLER = "infra/install/install.sh";
const INSTALLER_TEST = "infra/install/install.test.ts";

export const packageMutants = [
  ...mutantsOf("a package on its way", [
    [
      "a package has the sum of SHA256SUMS",
      INSTALLER,
      '[ "$(sum_of "$name")" = "$sum" ]',
      "true",
      INSTALLER_TEST,
      "a package of other bytes",
    ],
    [
      "SHA256SUMS has the sum that the operator names",
      INSTALLER,
      '[ "$(sum_of SHA256SUMS)" = "$digest" ]',
      "true",
      INSTALLER_TEST,
      "the sum of SHA256SUMS with",
    ],
    [
      "plain http only with a sum",
      INSTALLER,
      'http://*) [ -n "$digest" ] ||',
      "http://*) true ||",
      INSTALLER_TEST,
      "http:// without a sum",
    ],
    [
      "what does not run here is not put in force",
      INSTALLER,
      '"$stage/bin/node-shim" version > /dev/null ||',
      "true ||",
      INSTALLER_TEST,
      "a newer release that does not run here",
    ],
    [
      "the Node.js inside is the one that is locked",
      "infra/deb/runtime.ts",
      "if (integrity !== `sha512-${digest}`)",
      "if (integrity === '')",
      "infra/deb/runtime.test.ts",
      "the bytes of package-lock.json",
    ],
  ]),
];
