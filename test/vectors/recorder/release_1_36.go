//go:build kubernetes_1_36

// Has the parts whose types or functions differ between the releases: those of Kubernetes 1.36.
package main

import (
	cadvisorapi "github.com/google/cadvisor/info/v1"
	cadvisorfs "github.com/google/cadvisor/info/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	"k8s.io/kubernetes/pkg/kubelet/nodestatus"
)

type (
	machine      = cadvisorapi.MachineInfo
	hugePages    = cadvisorapi.HugePagesInfo
	versionsOfOS = cadvisorapi.VersionInfo
)

// releaseBefore is the only release whose hidden metrics a kubelet can show.
const releaseBefore = "1.35"

func ephemeralStorage(bytes uint64) v1.ResourceList {
	return cadvisor.EphemeralStorageCapacityFromFsInfo(cadvisorfs.FsInfo{Capacity: bytes})
}

// withoutHugePages keeps its cases: adjustForHugePages is new in 1.37.
func withoutHugePages(uint64, v1.ResourceList) uint64 {
	notRun()
	return 0
}

// eventReference keeps its cases: nodeRefWithUID is new in 1.37.
func eventReference(string) func([]*v1.Node) *v1.ObjectReference {
	notRun()
	return nil
}

func setterOfMachineInfo(given object, calls machineCalls) nodestatus.Setter {
	if given["runningInUserNamespace"] != nil {
		notRun() // nodeInfo.runningInUserNamespace is new in 1.37.
	}
	return nodestatus.MachineInfo(
		text(given["nodeName"]),
		int(given["maxPods"].(float64)),
		int(given["podsPerCore"].(float64)),
		func() (*machine, error) { return machineOf(given) },
		calls.capacity,
		calls.devicePlugins,
		calls.reservation,
		calls.recordEvent,
		truth(given["localStorageCapacityIsolation"]),
	)
}
