package wheel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"
)

// Web asks an index and its file server, again where an answer fails.
type Web struct {
	Client *http.Client
	Pause  time.Duration              // before the second try; doubled before each further one
	Seen   func(name string, n int64) // called with the bytes that came of a file; may be nil

	Offline bool // ask nothing: what was kept is all there is
}

// NewWeb returns a Web over HTTP/1.1: with one answer under way at a time, HTTP/2 is half as fast.
func NewWeb(pause time.Duration) *Web {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	transport.ResponseHeaderTimeout = stall
	return &Web{Client: &http.Client{Transport: transport}, Pause: pause}
}

// tries is how often one thing is asked for before it counts as not to be had.
const tries = 6

// StatusError is an answer that is no success.
type StatusError struct {
	status string
	Code   int
}

// Error returns the status.
func (e *StatusError) Error() string { return "the server answers " + e.status }

// passing reports whether the same question may be answered later.
func passing(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Code >= 500 || status.Code == http.StatusTooManyRequests || status.Code == http.StatusRequestTimeout
	}
	return !errors.Is(err, context.Canceled)
}

// Get asks until there is a successful answer, with growing pauses. The body is the caller's to close.
func (w *Web) Get(ctx context.Context, url string, header http.Header) (*http.Response, error) {
	var err error
	for try := range tries {
		if err = w.wait(ctx, try); err != nil {
			break
		}
		var answer *http.Response
		if answer, err = w.once(ctx, url, header); err == nil {
			return answer, nil
		}
		if !passing(err) {
			break
		}
	}
	return nil, err
}

// wait pauses before every try but the first.
func (w *Web) wait(ctx context.Context, try int) error {
	if try == 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(w.Pause << (try - 1)):
		return nil
	}
}

func (w *Web) once(ctx context.Context, url string, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header = header
	answer, err := w.Client.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusPartialContent {
		answer.Body.Close()
		return nil, &StatusError{answer.Status, answer.StatusCode}
	}
	answer.Body = &patient{answer.Body}
	return answer, nil
}

// stall is how long an answer may send nothing before it counts as broken off.
const stall = time.Minute

// patient is a body whose reads end when nothing comes any more.
type patient struct{ io.ReadCloser }

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	timer := time.AfterFunc(stall, func() { p.Close() })
	defer timer.Stop()
	return p.ReadCloser.Read(b)
}

// contentRange matches "bytes 0-0/899738273".
var contentRange = regexp.MustCompile(`^bytes (\d+)-\d+/(\d+)$`)

// from requests a file's bytes from an offset on. whole says that the server sends the complete file instead.
func (w *Web) from(ctx context.Context, url string, off int64) (body io.ReadCloser, size int64, whole bool, err error) {
	answer, err := w.Get(ctx, url, http.Header{"Range": {fmt.Sprintf("bytes=%d-", off)}})
	if err != nil {
		return nil, 0, false, err
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, answer.ContentLength, true, nil
	}
	m := contentRange.FindStringSubmatch(answer.Header.Get("Content-Range"))
	if m == nil || m[1] != strconv.FormatInt(off, 10) {
		answer.Body.Close()
		return nil, 0, false, fmt.Errorf("the server sends %q for the bytes from %d on", answer.Header.Get("Content-Range"),
			off)
	}
	size, err = strconv.ParseInt(m[2], 10, 64)
	return answer.Body, size, false, err
}

// remote is a file on a server, readable at offsets. Consecutive reads use one response, a jump makes a new request,
// and an interrupted response is resumed.
type remote struct {
	ctx  context.Context
	web  *Web
	file File
	size int64

	body io.ReadCloser
	at   int64 // where body stands
}

// shortJump is the distance in bytes up to which it reads on instead of making a new request.
const shortJump = 1 << 16

// ReadAt implements io.ReaderAt; it is for one goroutine.
func (r *remote) ReadAt(p []byte, off int64) (n int, err error) {
	if off >= r.size {
		return 0, io.EOF
	}
	short := off+int64(len(p)) > r.size
	if short {
		p = p[:r.size-off]
	}
	for broken := 0; n < len(p); {
		got := 0
		if err = r.seek(off + int64(n)); err == nil {
			got, err = r.read(p[n:])
			n += got
		}
		switch {
		case err == nil || n == len(p):
		case got > 0:
			broken = 0
		default:
			if broken++; broken == tries || !passing(err) {
				return n, err
			}
			if err := r.web.wait(r.ctx, broken); err != nil {
				return n, err
			}
		}
	}
	if short {
		return n, io.EOF
	}
	return n, nil
}

// seek puts the body at an offset.
func (r *remote) seek(off int64) error {
	if gap := off - r.at; r.body != nil && 0 <= gap && gap <= shortJump {
		n, err := io.CopyN(io.Discard, r.body, gap)
		r.at += n
		if err == nil {
			return nil
		}
	}
	r.Close()
	body, size, whole, err := r.web.from(r.ctx, r.file.URL, off)
	if err != nil {
		return err
	}
	if r.body, r.at = body, off; whole && off > 0 || size != r.size {
		r.Close()
		return fmt.Errorf("%s changed on the server while it was read", r.file.Name)
	}
	return nil
}

// read reads from the body; after an error it has to be asked for anew.
func (r *remote) read(p []byte) (int, error) {
	n, err := io.ReadFull(r.body, p)
	r.at += int64(n)
	r.web.seen(r.file.Name, int64(n))
	if err != nil {
		r.Close()
	}
	return n, err
}

// Close ends the answer that is under way.
func (r *remote) Close() error {
	if r.body == nil {
		return nil
	}
	err := r.body.Close()
	r.body = nil
	return err
}

func (w *Web) seen(name string, n int64) {
	if w.Seen != nil {
		w.Seen(name, n)
	}
}

// download brings a whole file down: for servers that do not send parts. A download that breaks off starts again.
func (w *Web) download(ctx context.Context, f File, to *os.File) error {
	var err error
	for try := range tries {
		if err = w.wait(ctx, try); err != nil {
			return err
		}
		if err = w.downloadOnce(ctx, f, to); err == nil || !passing(err) {
			return err
		}
	}
	return err
}

func (w *Web) downloadOnce(ctx context.Context, f File, to *os.File) error {
	if _, err := to.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := to.Truncate(0); err != nil {
		return err
	}
	answer, err := w.Get(ctx, f.URL, http.Header{})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	hash := f.hash()
	if _, err := io.Copy(io.MultiWriter(to, hash, meter{w, f.Name}), answer.Body); err != nil {
		return err
	}
	return f.check(hash)
}

// meter counts what is written to it.
type meter struct {
	web  *Web
	name string
}

// Write implements io.Writer.
func (m meter) Write(p []byte) (int, error) {
	m.web.seen(m.name, int64(len(p)))
	return len(p), nil
}
