package kernel

import (
	"fmt"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// secureBootFile is the firmware's variable, by its name and vendor: four bytes of attributes and one that is 1 where
// the firmware starts signed software only. Linux then loads no module that nobody it trusts has signed.
const secureBootFile = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

// ReadSecureBoot reads whether the firmware started this machine by Secure Boot; machines without EFI have no variable.
func ReadSecureBoot(h *host.Host) (source.Update, error) {
	data, err := h.ReadFile(secureBootFile)
	if err != nil {
		return nil, err
	}
	state, err := parseSecureBoot(data)
	if err != nil {
		return nil, host.Damaged(secureBootFile, err.Error())
	}
	return func(f *facts.Facts) { f.Machine.SecureBoot = state }, nil
}

// parseSecureBoot reads "\x06\x00\x00\x00\x01".
func parseSecureBoot(data []byte) (string, error) {
	if len(data) != 5 {
		return "", fmt.Errorf("%d bytes instead of 5", len(data))
	}
	if data[4] == 1 {
		return "on", nil
	}
	return "off", nil
}
