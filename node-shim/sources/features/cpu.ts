// Reads the features of the processor from /proc and /sys, in NFD's names.
import type { Host } from "./host.ts";

type Attributes = Record<string, string>;

/** The instruction sets that /proc/cpuinfo shows, by the kernel's name, each with NFD's name. */
export const X86_FLAGS = new Map(
  (
    "3dnow:AMD3DNOW 3dnowext:AMD3DNOWEXT abm:LZCNT adx:ADX aes:AESNI amx_bf16:AMXBF16 amx_int8:AMXINT8 " +
    "amx_tile:AMXTILE arch_capabilities:IA32_ARCH_CAP avx:AVX avx2:AVX2 avx512_bf16:AVX512BF16 " +
    "avx512_bitalg:AVX512BITALG avx512_fp16:AVX512FP16 avx512_vbmi2:AVX512VBMI2 avx512_vnni:AVX512VNNI " +
    "avx512_vp2intersect:AVX512VP2INTERSECT avx512_vpopcntdq:AVX512VPOPCNTDQ avx512bw:AVX512BW avx512cd:AVX512CD " +
    "avx512dq:AVX512DQ avx512er:AVX512ER avx512f:AVX512F avx512ifma:AVX512IFMA avx512pf:AVX512PF " +
    "avx512vbmi:AVX512VBMI avx512vl:AVX512VL avx_vnni:AVXVNNI bmi1:BMI1 bmi2:BMI2 cldemote:CLDEMOTE clzero:CLZERO " +
    "cmov:CMOV cpb:CPBOOST cppc:CPPC cx16:CX16 cx8:CMPXCHG8 decodeassists:SVMDA enqcmd:ENQCMD erms:ERMS f16c:F16C " +
    "flush_l1d:FLUSH_L1D flushbyasid:SVMFBASID fma:FMA3 fma4:FMA4 fpu:X87 fsrm:FSRM fxsr:FXSR gfni:GFNI hle:HLE " +
    "hypervisor:HYPERVISOR ibpb:IBPB ibs:IBS ibt:CETIBT lahf_lm:LAHF lam:LAM lbrv:LBRVIRT md_clear:MD_CLEAR mmx:MMX " +
    "mmxext:MMXEXT movbe:MOVBE movdir64b:MOVDIR64B movdiri:MOVDIRI mpx:MPX npt:SVMNP nrip_save:NRIPS nx:NX " +
    "overflow_recov:MCAOVERFLOW pausefilter:SVMPF pclmulqdq:CLMUL pconfig:PCONFIG pfthreshold:SVMPFT pni:SSE3 " +
    "popcnt:POPCNT rdpru:RDPRU rdrand:RDRAND rdseed:RDSEED rdtscp:RDTSCP rtm:RTM sep:SYSEE serialize:SERIALIZE " +
    "sev:SEV sev_es:SEV_ES sev_snp:SEV_SNP sgx:SGX sgx_lc:SGXLC sha_ni:SHA sme:SME sse:SSE sse2:SSE2 sse4_1:SSE4 " +
    "sse4_2:SSE42 sse4a:SSE4A ssse3:SSSE3 stibp:STIBP succor:SUCCOR svm:SVM svm_lock:SVML syscall:SYSCALL " +
    "tdx_guest:TDX_GUEST tme:TME topoext:TOPEXT tsc_scale:TSCRATEMSR tsxldtrk:TSXLDTRK user_shstk:CETSS vaes:VAES " +
    "vmcb_clean:VMCBCLEAN vmx:VMX vpclmulqdq:VPCLMULQDQ waitpkg:WAITPKG wbnoinvd:WBNOINVD xgetbv1:XGETBV1 xop:XOP " +
    "xsave:XSAVE xsavec:XSAVEC xsaveopt:XSAVEOPT xsaves:XSAVES"
  )
    .split(" ")
    .map((pair) => pair.split(":") as [string, string]),
);

/** NFD's names that follow from another name. Linux uses XSAVE if it shows the flag. NFD reads FXSROPT with SSE. */
export const IMPLIED: Readonly<Record<string, string>> = { XSAVE: "OSXSAVE", SSE: "FXSROPT" };

const X86_VENDORS: Readonly<Record<string, string>> = {
  AuthenticAMD: "AMD",
  CentaurHauls: "VIA",
  GenuineIntel: "Intel",
  HygonGenuine: "Hygon",
};
/** The implementers of Arm processors, by their number. */
const ARM_VENDORS: Readonly<Record<number, string>> = {
  0x41: "ARM",
  0x42: "Broadcom",
  0x43: "Cavium",
  0x44: "DEC",
  0x46: "Fujitsu",
  0x49: "Infineon",
  0x4d: "Motorola",
  0x4e: "NVIDIA",
  0x50: "AMCC",
  0x51: "Qualcomm",
  0x56: "Marvell",
  0x69: "Intel",
  0xc0: "Ampere",
};

/** Returns what /proc/cpuinfo shows of the first processor. */
function firstProcessor({ text }: Host): Map<string, string> {
  const [first = ""] = (text("/proc/cpuinfo") ?? "").split("\n\n", 1);
  return new Map(
    first.split("\n").map((line) => {
      const [name = "", value = ""] = line.split(/\s*: ?/, 2);
      return [name, value];
    }),
  );
}

/** Returns the instruction sets, as far as the kernel shows them: NFD asks the processor for more. */
export function cpuid(host: Host): string[] | undefined {
  const processor = firstProcessor(host);
  // arm64 names its features as NFD does, in lower case.
  const arm = processor.get("Features");
  if (arm !== undefined) return words(arm).map((name) => name.toUpperCase());
  const x86 = processor.get("flags");
  if (x86 === undefined) return host.note("cpu.cpuid: /proc/cpuinfo shows no instruction sets");
  const known = words(x86).flatMap((flag) => X86_FLAGS.get(flag) ?? []);
  return [...known, ...known.flatMap((name) => IMPLIED[name] ?? [])].sort();
}

export function model(host: Host): Attributes | undefined {
  const processor = firstProcessor(host);
  const number = (name: string) => Number(processor.get(name));
  const vendor = processor.get("vendor_id");
  if (vendor !== undefined)
    return {
      vendor_id: X86_VENDORS[vendor] ?? "VendorUnknown",
      family: String(number("cpu family")),
      id: String(number("model")),
    };
  if (!processor.has("CPU implementer"))
    return host.note("cpu.model: /proc/cpuinfo does not show the processor's model");
  // NFD takes both numbers from the register MIDR_EL1, where the architecture of arm64 is 15.
  return {
    vendor_id: ARM_VENDORS[number("CPU implementer")] ?? "VendorUnknown",
    family: String((number("CPU variant") << 4) | 0xf),
    id: String((number("CPU part") << 4) | number("CPU revision")),
  };
}

const CPUS = "/sys/bus/cpu/devices";
const CPU_SYSTEM = "/sys/devices/system/cpu";

export function topology({ list, text }: Host): Attributes {
  const sockets = new Set<string>();
  let isThreaded = false;
  for (const cpu of list(CPUS)) {
    const siblings = text(`${CPUS}/${cpu}/topology/thread_siblings_list`);
    const socket = text(`${CPUS}/${cpu}/topology/physical_package_id`);
    // As in NFD, a processor that is offline hides the topology.
    if (siblings === undefined || socket === undefined) return {};
    isThreaded ||= /[,-]/.test(siblings);
    sockets.add(socket);
  }
  return { hardware_multithreading: String(isThreaded), socket_count: String(sockets.size) };
}

/** Returns whether the processor may sleep in C-states, if the driver intel_idle decides that. */
export function cstate({ text }: Host): Attributes {
  if (text(`${CPU_SYSTEM}/cpuidle/current_driver`) !== "intel_idle") return {};
  const most = text("/sys/module/intel_idle/parameters/max_cstate");
  return most === undefined ? {} : { enabled: String(Number(most) > 0) };
}

/** Returns the state of the driver intel_pstate, with the governor if all processors have the same. */
export function pstate({ list, text }: Host): Attributes {
  const status = text(`${CPU_SYSTEM}/intel_pstate/status`);
  if (status === undefined || status === "off") return {};
  const noTurbo = text(`${CPU_SYSTEM}/intel_pstate/no_turbo`);
  const found = { status, ...(noTurbo !== undefined && { turbo: String(noTurbo.startsWith("0")) }) };
  if (status !== "active") return found;
  const policies = list(`${CPU_SYSTEM}/cpufreq`).map((name) => `${CPU_SYSTEM}/cpufreq/${name}`);
  const used = policies.filter((policy) => (text(`${policy}/affected_cpus`) ?? "") !== "");
  const governors = new Set(used.flatMap((policy) => text(`${policy}/scaling_governor`) ?? []));
  const [governor] = governors;
  return governor !== undefined && governors.size === 1 ? { ...found, scaling_governor: governor } : found;
}

/** Returns the protection of memory and guests that is turned on. */
export function security(host: Host): Attributes {
  const { list, text } = host;
  const isOn = (parameter: string) => /^[1Y]/.test(text(`/sys/module/${parameter}`) ?? "");
  const nodes = list("/sys/devices/system/node").filter((name) => /^node\d+$/.test(name));
  const epc = nodes.map((name) => Number(text(`/sys/devices/system/node/${name}/x86/sgx_total_bytes`) ?? 0));
  const epcBytes = epc.reduce((sum, bytes) => sum + bytes, 0);
  const tdx = isOn("kvm_intel/parameters/tdx");
  const isProtected = words(firstProcessor(host).get("flags") ?? "").includes("tdx_guest");
  const [sev, sevEs] = [isOn("kvm_amd/parameters/sev"), isOn("kvm_amd/parameters/sev_es")];
  const amount = (isThere: boolean, name: string, resource: string) => {
    const found = isThere ? miscCapacity(host, resource) : undefined;
    return found === undefined ? {} : { [name]: found };
  };
  return {
    ...(epcBytes > 0 && { "sgx.enabled": "true", "sgx.epc": String(epcBytes) }),
    ...(tdx && { "tdx.enabled": "true" }),
    ...amount(tdx, "tdx.total_keys", "tdx"),
    ...(isProtected && { "tdx.protected": "true" }),
    ...(sev && { "sev.enabled": "true" }),
    ...amount(sev, "sev.asids", "sev"),
    ...(sevEs && { "sev.es.enabled": "true" }),
    ...amount(sevEs, "sev.encrypted_state_ids", "sev_es"),
    ...(isOn("kvm_amd/parameters/sev_snp") && { "sev.snp.enabled": "true" }),
  };
}

/** Returns the capacity of a resource of the cgroup controller misc. */
function miscCapacity({ text }: Host, resource: string): string | undefined {
  const capacity = text("/sys/fs/cgroup/misc.capacity") ?? text("/sys/fs/cgroup/misc/misc.capacity") ?? "";
  const line = capacity.split("\n").find((each) => each.startsWith(`${resource} `));
  return /^\S+ (\d+)$/.exec(line ?? "")?.[1];
}

const words = (text: string) => text.split(/\s+/).filter((word) => word !== "");
