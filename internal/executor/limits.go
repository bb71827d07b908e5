package executor

import (
	"time"

	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/manifest"
)

// limits bound the call's program: of policy's and the tool's own the smaller.
func (p *proposal) limits() manifest.Limits {
	policy, own := manifest.Limits(p.x.settings.Programs), p.tool.Limits
	return manifest.Limits{
		CPUSeconds:  smallest(policy.CPUSeconds, own.CPUSeconds),
		FileBytes:   smallest(policy.FileBytes, own.FileBytes),
		OpenFiles:   smallest(policy.OpenFiles, own.OpenFiles),
		Processes:   smallest(policy.Processes, own.Processes),
		MemoryBytes: smallest(policy.MemoryBytes, own.MemoryBytes),
		TempBytes:   smallest(policy.TempBytes, own.TempBytes),
		OutputBytes: smallest(policy.OutputBytes, own.OutputBytes),
	}
}

// sandboxLimits are those that a sandbox holds its program to.
func (p *proposal) sandboxLimits() sandbox.Limits {
	l := p.limits()
	return sandbox.Limits{
		CPU:          time.Duration(l.CPUSeconds) * time.Second,
		FileSize:     l.FileBytes,
		OpenFiles:    int(l.OpenFiles),
		Processes:    int(l.Processes),
		AddressSpace: l.MemoryBytes,
		Temp:         l.TempBytes,
	}
}
