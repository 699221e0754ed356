//go:build !kubernetes_1_36

// Has the parts whose types or functions differ between the releases: those of Kubernetes 1.37.
package main

import (
	_ "unsafe"

	cadvisorapi "github.com/google/cadvisor/lib/model"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/kubelet"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	"k8s.io/kubernetes/pkg/kubelet/nodestatus"
	_ "k8s.io/kubernetes/pkg/kubelet/server/stats"
)

type (
	machine      = cadvisorapi.MachineInfo
	hugePages    = cadvisorapi.HugePagesInfo
	versionsOfOS = cadvisorapi.VersionInfo
)

// releaseBefore is the only release whose hidden metrics a kubelet can show.
const releaseBefore = "1.36"

//go:linkname adjustForHugePages k8s.io/kubernetes/pkg/kubelet/server/stats.adjustForHugePages
func adjustForHugePages(memory *statsapi.MemoryStats, node *v1.Node) *statsapi.MemoryStats

func ephemeralStorage(bytes uint64) v1.ResourceList {
	return cadvisor.EphemeralStorageCapacityFromFsInfo(cadvisorapi.FsInfo{Capacity: bytes})
}

func withoutHugePages(available uint64, capacity v1.ResourceList) uint64 {
	node := &v1.Node{Status: v1.NodeStatus{Capacity: capacity}}
	return *adjustForHugePages(&statsapi.MemoryStats{AvailableBytes: &available}, node).AvailableBytes
}

func setterOfMachineInfo(given object, calls machineCalls) nodestatus.Setter {
	return nodestatus.MachineInfo(
		text(given["nodeName"]),
		int(given["maxPods"].(float64)),
		int(given["podsPerCore"].(float64)),
		func() (*machine, error) { return machineOf(given) },
		func(_ klog.Logger, isolation bool) v1.ResourceList { return calls.capacity(isolation) },
		func(klog.Logger) (v1.ResourceList, v1.ResourceList, []string) { return calls.devicePlugins() },
		calls.reservation,
		calls.recordEvent,
		func() *bool { return as[*bool](given["runningInUserNamespace"]) },
		truth(given["localStorageCapacityIsolation"]),
	)
}

//go:linkname nodeReference k8s.io/kubernetes/pkg/kubelet.(*Kubelet).nodeRefWithUID
func nodeReference(kl *kubelet.Kubelet) *v1.ObjectReference

// eventReference returns a function that gives the reference of an event, by the Nodes that the lister has.
func eventReference(name string) func([]*v1.Node) *v1.ObjectReference {
	kl := &kubelet.Kubelet{}
	set(kl, "nodeName", types.NodeName(name))
	set(kl, "nodeRef", &v1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: name})
	set(kl, "kubeClient", newServer().client())
	return func(known []*v1.Node) *v1.ObjectReference {
		indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
		for _, node := range known {
			check(indexer.Add(node))
		}
		set(kl, "nodeLister", corelisters.NewNodeLister(indexer))
		return nodeReference(kl)
	}
}
