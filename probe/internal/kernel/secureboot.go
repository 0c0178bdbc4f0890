package kernel

import (
	"fmt"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// secureBootFile is the EFI variable that says whether Secure Boot is on: four bytes of attributes, and one byte that
// is 1 if the firmware starts only signed software. Linux then refuses modules that no trusted key has signed.
const secureBootFile = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

// ReadSecureBoot reads whether the firmware started this machine by Secure Boot. Machines without EFI do not have the
// variable.
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

// parseSecureBoot parses the variable's five bytes, such as "\x06\x00\x00\x00\x01".
func parseSecureBoot(data []byte) (string, error) {
	if len(data) != 5 {
		return "", fmt.Errorf("%d bytes instead of 5", len(data))
	}
	if data[4] == 1 {
		return "on", nil
	}
	return "off", nil
}
