package site

import (
	"cmp"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"cudacompat/docs"
	"cudacompat/internal/tables"
	"cudacompat/internal/tables/sheet"
	"cudacompat/internal/version"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
)

// thing is a page about one GPU, release, driver branch, instance type, Xid or error: its first line is the answer.
type thing struct {
	Schema     string       `json:"schema"`
	Kind       string       `json:"kind"`
	Name       string       `json:"name"`
	Answer     string       `json:"answer"`
	Command    string       `json:"command,omitempty"` // that installs what the answer says
	Facts      []fact       `json:"facts"`
	Bands      []wantTable  `json:"bands,omitempty"`
	Table      *dataTable   `json:"table,omitempty"`
	Notes      []string     `json:"notes,omitempty"`
	Neighbours []neighbour  `json:"neighbours"`
	Ask        template.URL `json:"-"` // the question for the start page, "gpu=L4"
	Source     []string     `json:"source"`
	Date       string       `json:"date"`
}

type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Path  string `json:"-"` // of the page that is about the value
}

type neighbour struct {
	Words string `json:"words"`
	Path  string `json:"path"`
}

// dataTable is a table on a page.
type dataTable struct {
	Caption string     `json:"caption"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
	Anchors []string   `json:"-"` // of the rows that have one
}

// Anchor returns the anchor of a row; empty where it has none.
func (t *dataTable) Anchor(row int) string {
	if row < len(t.Anchors) {
		return t.Anchors[row]
	}
	return ""
}

// thingSchema names the form of a thing in JSON.
const thingSchema = "cudacompat/page/v1"

// things writes the page of every thing, and the one that lists them.
func (b *builder) things() error {
	for _, step := range []func() error{b.gpus, b.torches, b.frameworks, b.branches, b.instances, b.rules, b.xids, b.errors} {
		if err := step(); err != nil {
			return err
		}
	}
	lists := map[string][]entry{}
	for _, e := range b.index {
		kind, _, _ := strings.Cut(e.Path, "/")
		lists[kind] = append(lists[kind], e)
	}
	slices.Reverse(lists["torch"]) // the newest first, as those of the others
	slices.Reverse(lists["driver"])
	var body thingsBody
	for _, k := range []struct{ kind, title string }{{"gpu", "GPUs"}, {"torch", "PyTorch releases"}, {"tensorflow", "TensorFlow releases"}, {"jax", "JAX releases"}, {"vllm", "vLLM releases"}, {"sglang", "SGLang releases"},
		{"driver", "Driver branches"}, {"instance", "Instance types"},
		{"rule", "Rules"}, {"xid", "Xids"}, {"error", "Errors"}} {
		body.Lists = append(body.Lists, thingsList{k.kind, k.title, lists[k.kind]})
	}
	b.listed("All things", "things/")
	return b.page("things", page{Title: "GPUs, releases, drivers, instances, rules and errors", Path: "things/", Scripts: []string{"search.js"}, Body: body})
}

type thingsBody struct{ Lists []thingsList }

type thingsList struct {
	Kind, Title string
	Entries     []entry
}

// thing writes one page and its JSON, and adds it to the search.
func (b *builder) thing(address, title string, t thing, words ...string) error {
	if err := b.thingJSON(address, &t); err != nil {
		return err
	}
	b.listed(t.Name, address, words...)
	return b.thingPage(address, title, t)
}

// thingJSON writes the JSON of a page.
func (b *builder) thingJSON(address string, t *thing) error {
	t.Schema, t.Date = thingSchema, b.Tables.Checked()
	if t.Facts == nil {
		t.Facts = []fact{}
	}
	if t.Neighbours == nil {
		t.Neighbours = []neighbour{}
	}
	if t.Source == nil {
		t.Source = []string{}
	}
	return b.writeJSON(strings.TrimSuffix(address, "/")+".json", t)
}

// thingPage writes one page.
func (b *builder) thingPage(address, title string, t thing) error {
	return b.page("thing", page{Title: title, Description: t.Answer, Path: address, Question: t.Name, Wide: t.Table != nil && len(t.Table.Columns) > 7, JSON: "../" + path.Base(address) + ".json", Body: t})
}

// asks returns the question for the start page, as its address has it.
func asks(name, value string) template.URL { return template.URL(url.Values{name: {value}}.Encode()) }

// shortAddress returns a source's address for people, its host and its end; empty for a wheel.
func shortAddress(source string) string {
	rest, ok := strings.CutPrefix(source, "https://")
	if !ok {
		return ""
	}
	parts := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	if len(parts) < 4 {
		return strings.Join(parts, "/")
	}
	if parts[0] == "github.com" {
		return strings.Join(parts[1:3], "/") + "/…/" + parts[len(parts)-1]
	}
	return parts[0] + "/…/" + strings.Join(parts[len(parts)-2:], "/")
}

// known returns the facts that have a value.
func known(list ...fact) []fact {
	return slices.DeleteFunc(list, func(f fact) bool { return strings.TrimSpace(f.Value) == "" })
}

// ---- GPUs

// gpuPage is the products that share a page.
type gpuPage struct {
	name     string // as people say it, "V100"
	chip     *tables.Chip
	chips    []string // of all products
	products []string
}

// shortGPU returns a product's name as people say it: without its brand, memory and form.
func shortGPU(name string) string {
	for _, brand := range []string{"GeForce ", "Tesla ", "NVIDIA "} {
		name = strings.TrimPrefix(name, brand)
	}
	return formFactor.ReplaceAllString(name, "")
}

// gpuPages returns the pages of all products. Products with one short name share a page if their answers are equal.
func (b *builder) gpuPages() []*gpuPage {
	var list []*gpuPage
	at := map[string]*gpuPage{}
	host := func(name string) int {
		return slices.IndexFunc(b.data.Hosts, func(h pageHost) bool { return slices.Contains(h.GPUs, name) })
	}
	chips := tables.Rows[tables.Chip](b.Tables)
	for i := range chips {
		for _, name := range chips[i].Names {
			if b.Tables.ChipNamed(name) != &chips[i] {
				continue
			}
			short := shortGPU(name)
			p := at[slug(short)]
			if p != nil && host(p.products[0]) != host(name) {
				short = name
				p = at[slug(short)]
			}
			if p == nil {
				p = &gpuPage{name: short, chip: &chips[i]}
				at[slug(short)] = p
				list = append(list, p)
			}
			p.products = append(p.products, name)
			if !slices.Contains(p.chips, chips[i].Chip) {
				p.chips = append(p.chips, chips[i].Chip)
			}
		}
	}
	slices.SortStableFunc(list, func(x, y *gpuPage) int { return sheet.CompareNaturally(x.name, y.name) })
	return list
}

func (b *builder) gpus() error {
	pages := b.gpuPages()
	instances := map[string][]neighbour{}
	for _, name := range b.Tables.InstanceNames() {
		key := slug(shortGPU(b.Tables.Instance(name).GPU))
		instances[key] = append(instances[key], neighbour{name, "instance/" + strings.ToLower(name) + "/"})
	}
	things, ended := map[*gpuPage]thing{}, map[string][]*gpuPage{}
	for _, p := range pages {
		t := b.gpuThing(p)
		if len(t.Bands) == 0 && p.chip.LastBranch.Known() {
			ended[p.chips[0]] = append(ended[p.chips[0]], p)
		}
		things[p] = t
	}
	for _, p := range pages {
		t, address := things[p], "gpu/"+slug(p.name)+"/"
		alike := ended[p.chips[0]]
		if len(alike) == 1 || !slices.Contains(alike, p) {
			alike = nil
		}
		for _, o := range pages {
			if o.chip.Capability == p.chip.Capability && o != p && !slices.Contains(alike, o) && len(t.Neighbours) < 4 {
				t.Neighbours = append(t.Neighbours, neighbour{o.name, "gpu/" + slug(o.name) + "/"})
			}
		}
		t.Neighbours = append(t.Neighbours, instances[slug(p.name)][:min(5, len(instances[slug(p.name)]))]...)
		words := append(slices.Clone(p.products), p.chip.Chip, p.chip.Capability.String())
		if alike == nil {
			if err := b.thing(address, t.Answer, t, words...); err != nil {
				return err
			}
		} else {
			if err := b.endedGPU(address, p, t, alike, words); err != nil {
				return err
			}
			address = endedAddress(p)
		}
		b.redirect("gpu/"+spelt(p.name)+"/", address)
		for _, product := range p.products {
			b.redirect("gpu/"+slug(product)+"/", address)
		}
	}
	return nil
}

// gpuThing returns the page of a GPU, without its neighbours.
func (b *builder) gpuThing(p *gpuPage) thing {
	t := thing{Kind: "gpu", Name: p.name, Ask: asks("gpu", p.name), Source: p.chip.Source}
	t.Answer, t.Command, t.Bands = b.answerFor(p.products[0], p.name, "")
	t.Facts = known(fact{Name: "compute capability", Value: p.chip.Capability.String()}, fact{Name: "architecture", Value: p.chip.Architecture},
		fact{Name: "chip", Value: strings.Join(p.chips, ", ")}, fact{Name: "kind", Value: strings.Join(p.chip.Kind, ", ")},
		b.branchFact("first driver", p.chip.FirstBranch.String()), b.branchFact("last driver branch", p.chip.LastBranch.String()),
		fact{Name: "first CUDA toolkit", Value: p.chip.FirstCUDA.String()}, fact{Name: "last CUDA toolkit", Value: p.chip.LastCUDA.String()},
		fact{Name: "open kernel module", Value: p.chip.OpenModule}, fact{Name: "products", Value: strings.Join(p.products, ", ")})
	if p.chip.LastBranch.Known() {
		t.Notes = append(t.Notes, "Driver branch "+p.chip.LastBranch.String()+" is the last that drives it"+b.endOf(p.chip.LastBranch.String())+".")
	}
	return t
}

// endedAddress returns the page that the GPUs of one chip share.
func endedAddress(p *gpuPage) string { return "gpu/" + slug(p.chips[0]) + "/" }

// endedGPU writes the files of a GPU that drivers have dropped and for which nothing in the tables runs: its JSON, and
// its search entry. GPUs of one chip share the page, which the first of them writes.
func (b *builder) endedGPU(address string, p *gpuPage, t thing, alike []*gpuPage, words []string) error {
	if err := b.thingJSON(address, &t); err != nil {
		return err
	}
	shared := endedAddress(p)
	b.listed(t.Name, shared, words...)
	b.redirect(address, shared)
	if alike[0] != p {
		return nil
	}
	var products []string
	for _, o := range alike {
		products = append(products, o.products...)
	}
	t.Name, t.Ask = p.chips[0]+" GPUs", ""
	t.Answer = fmt.Sprintf("%s for GPUs with %s: no release in the tables runs on them", titles[b.Wants[0]], p.chips[0])
	t.Facts = slices.Clone(t.Facts)
	t.Facts[len(t.Facts)-1].Value = strings.Join(products, ", ")
	if err := b.thingJSON(shared, &t); err != nil {
		return err
	}
	return b.thingPage(shared, t.Answer, t)
}

// endOf returns a branch's end of life for a sentence: ", whose end of life is 2028-08".
func (b *builder) endOf(branch string) string {
	for _, row := range tables.Rows[tables.Branch](b.Tables) {
		if row.Branch == branch && row.EndOfLife != "" {
			return "; its end of life is " + row.EndOfLife
		}
	}
	return ""
}

// branchFact returns a driver with the page of its branch.
func (b *builder) branchFact(name, driver string) fact {
	f := fact{Name: name, Value: driver}
	branch, _, _ := strings.Cut(driver, ".")
	if len(tables.RowsOf[tables.Branch](b.Tables, branch)) > 0 {
		f.Path = "driver/" + branch + "/"
	}
	return f
}

// titles are the frameworks' own names.
var titles = map[string]string{"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX", "vllm": "vLLM", "sglang": "SGLang"}

// answerFor returns the newest PyTorch for a host, the command that installs it, and the releases by driver. what
// describes the host.
func (b *builder) answerFor(gpu, what, instance string) (answer, command string, bands []wantTable) {
	table := wantTable{Want: "The newest release by driver", Head: "package"}
	for _, want := range b.Wants {
		s := b.spaces[want]
		g := s.Group(cmp.Or(instance, gpu))
		if g == nil {
			continue
		}
		if cells := bandCells(s, g); len(cells) > 0 {
			table.Rows = append(table.Rows, bandRow{[]string{want}, cells})
		}
		if want != b.Wants[0] {
			continue
		}
		sets := s.Answers[g.Without].Sets
		i := slices.IndexFunc(sets, func(set pin.Set) bool { return set.Choice == pin.SmallestDriver })
		if i < 0 {
			answer = fmt.Sprintf("%s for %s: no release in the tables runs on it", titles[want], what)
			continue
		}
		set := sets[i]
		newest, last := b.data.Wants[want].Newest, ""
		if version.CompareTexts(publicOf(set.Packages[0].Version), publicOf(newest)) < 0 {
			last = ", the last"
		}
		needs := ""
		if from := firstOf(bandCells(s, g), set.Packages[0].Version); from != "" {
			needs = ", with driver " + from + " or newer"
		}
		answer = fmt.Sprintf("%s for %s: %s%s%s", titles[want], what, set.Packages[0].Version, last, needs)
		command = set.Commands["pip"]
	}
	if len(table.Rows) > 0 {
		bands = append(bands, table)
	}
	return answer, command, bands
}

// firstOf returns where a version begins to be the newest.
func firstOf(cells []bandCell, version string) string {
	for _, c := range cells {
		if c.Version == version && c.From != "any driver" {
			return strings.TrimSuffix(c.From, "+")
		}
	}
	return ""
}

func publicOf(v string) string { v, _, _ = strings.Cut(v, "+"); return v }

// ---- PyTorch

func (b *builder) torches() error {
	var releases []string
	rows := map[string][]tables.Torch{}
	for _, r := range tables.Rows[tables.Torch](b.Tables) {
		if len(rows[r.Release]) == 0 {
			releases = append(releases, r.Release)
		}
		rows[r.Release] = append(rows[r.Release], r)
	}
	slices.SortFunc(releases, version.CompareTexts)
	for i, release := range releases {
		t := thing{Kind: "torch", Name: "torch " + release, Ask: ""}
		t.Answer = b.torchAnswer(release, rows[release])
		t.Table = &dataTable{Caption: "Builds", Columns: []string{"variant", "platform", "CUDA", "driver", "cuDNN", "NCCL", "machine code", "PTX", "Python", "glibc"}}
		for _, r := range rows[release] {
			need, _, _ := b.Tables.Floor(r.CUDA, r.Platform == "win_amd64")
			t.Table.Rows = append(t.Table.Rows, []string{r.Variant, r.Platform, r.CUDA.String(), strings.TrimPrefix(need, "driver "), r.CuDNN.String(), r.NCCL.String(),
				strings.Join(r.SASS, " "), strings.Join(r.PTX, " "), strings.Join(r.Python, " "), r.Glibc.String()})
			t.addSources(r.Source)
		}
		first := rows[release][0]
		t.Facts = known(fact{Name: "torchvision", Value: first.Torchvision}, fact{Name: "torchaudio", Value: first.Torchaudio}, fact{Name: "triton", Value: first.Triton},
			fact{Name: "plain pip install, x86-64", Value: b.defaultVariant(release, "linux_x86_64")}, fact{Name: "plain pip install, Arm", Value: b.defaultVariant(release, "linux_aarch64")})
		t.Bands = b.releaseBands(release)
		if i > 0 {
			t.Neighbours = append(t.Neighbours, neighbour{"torch " + releases[i-1], "torch/" + releases[i-1] + "/"})
		}
		if i+1 < len(releases) {
			t.Neighbours = append(t.Neighbours, neighbour{"torch " + releases[i+1], "torch/" + releases[i+1] + "/"})
		}
		t.Neighbours = append(t.Neighbours, neighbour{"all releases by GPU", "grid/"})
		if err := b.thing("torch/"+release+"/", t.Answer, t, "pytorch "+release); err != nil {
			return err
		}
		b.redirect("torch/"+strings.TrimSuffix(release, ".0")+"/", "torch/"+release+"/")
		b.redirect("pytorch/"+release+"/", "torch/"+release+"/")
	}
	return nil
}

// torchAnswer says which driver a release needs.
func (b *builder) torchAnswer(release string, rows []tables.Torch) string {
	variant := b.defaultVariant(release, "linux_x86_64")
	var words []string
	lowest := ""
	for _, r := range rows {
		if r.Platform != "linux_x86_64" || !strings.HasPrefix(r.Variant, "cu") {
			continue
		}
		need, _, _ := b.Tables.Floor(r.CUDA, false)
		need = strings.TrimPrefix(need, "driver ")
		if r.Variant == variant {
			words = append([]string{fmt.Sprintf("plain pip install (%s) needs driver %s", variant, need)}, words...)
			continue
		}
		if lowest == "" || version.CompareTexts(strings.TrimLeft(need, ">= "), strings.TrimLeft(lowest, ">= ")) < 0 {
			lowest = need
			words = append(slices.DeleteFunc(words, func(w string) bool { return strings.Contains(w, "at least") }), fmt.Sprintf("%s at least %s", r.Variant, need))
		}
	}
	if len(words) == 0 {
		return "PyTorch " + release + ": no CUDA build for x86-64 is in the tables"
	}
	return "PyTorch " + release + ": " + strings.ReplaceAll(strings.ReplaceAll(strings.Join(words, "; "), "at least >=", "needs driver >="), "at least ", "needs driver ")
}

// releaseBands returns the drivers of a release by GPU, from the grid.
func (b *builder) releaseBands(release string) []wantTable {
	i := slices.IndexFunc(b.grid.Releases, func(r gridRelease) bool { return r.Release == release })
	if i < 0 {
		return nil
	}
	t := wantTable{Want: "Drivers by GPU", Head: "GPU"}
	for j, c := range b.grid.Releases[i].Cells {
		row := bandRow{GPUs: []string{b.grid.GPUs[j].Words}}
		for _, build := range c.Builds {
			words := "driver " + build.Drivers.String()
			switch {
			case !build.works() && len(build.Undecided) > 0:
				words = "not known"
			case !build.works():
				words = "no driver"
			}
			row.Bands = append(row.Bands, bandCell{From: build.Variant, Text: words})
		}
		if len(row.Bands) == 0 {
			row.Bands = []bandCell{{From: "no build", Text: "in the tables for this platform"}}
		}
		t.Rows = append(t.Rows, row)
	}
	return []wantTable{t}
}

// ---- drivers

func (b *builder) branches() error {
	rows := tables.Rows[tables.Branch](b.Tables)
	for i := range rows {
		r := &rows[i]
		t := thing{Kind: "driver", Name: "driver " + r.Branch, Ask: asks("driver", r.Branch), Source: r.Source}
		newest := cmp.Or(r.Newest.String(), r.Branch)
		s := b.spaces[b.Wants[0]]
		var best []string
		table := &dataTable{Caption: "The newest release that runs on " + newest, Columns: append([]string{"GPU"}, b.Wants...)}
		for _, f := range families {
			line := []string{f.words}
			for _, want := range b.Wants {
				v := b.keeps(want, f.gpu, newest)
				line = append(line, cmp.Or(v, "–"))
				if want == b.Wants[0] && v != "" && !slices.Contains(best, v) {
					best = append(best, v)
				}
			}
			table.Rows = append(table.Rows, line)
		}
		t.Table = table
		slices.SortFunc(best, func(x, y string) int { return compareReleases(y, x) })
		t.Answer = "Driver " + r.Branch + ": no PyTorch in the tables runs on it"
		if len(best) > 0 {
			t.Answer = fmt.Sprintf("Driver %s: PyTorch %s is the newest that runs on it", r.Branch, best[0])
		}
		if r.EndOfLife != "" {
			verb := "reaches its end of life in "
			if r.EndOfLife <= s.Date {
				verb = "reached its end of life in "
			}
			t.Notes = append(t.Notes, "The branch "+verb+r.EndOfLife+".")
		}
		t.Facts = known(fact{Name: "newest release", Value: r.Newest.String()}, fact{Name: "type", Value: branchTypes[r.Type]}, fact{Name: "CUDA that it was made with", Value: r.CUDA.String()},
			fact{Name: "first release", Value: r.FirstRelease}, fact{Name: "end of life", Value: r.EndOfLife}, fact{Name: "kernel modules", Value: r.Module})
		if i > 0 {
			t.Neighbours = append(t.Neighbours, neighbour{"driver " + rows[i-1].Branch, "driver/" + rows[i-1].Branch + "/"})
		}
		if i+1 < len(rows) {
			t.Neighbours = append(t.Neighbours, neighbour{"driver " + rows[i+1].Branch, "driver/" + rows[i+1].Branch + "/"})
		}
		address := "driver/" + r.Branch + "/"
		if err := b.thing(address, t.Answer, t, "nvidia-driver-"+r.Branch, newest); err != nil {
			return err
		}
		if newest != r.Branch {
			b.redirect("driver/"+newest+"/", address)
		}
	}
	return nil
}

var branchTypes = map[string]string{"LTS": "long-term support", "PB": "production", "NFB": "new features"}

// keeps returns the newest release of a want on a GPU and driver, or "".
func (b *builder) keeps(want, gpu, driver string) string {
	s := b.spaces[want]
	g := groupOf(b.Tables, s, gpu)
	if g == nil {
		return ""
	}
	for _, set := range s.Answers[g.On(driver)].Sets {
		if set.Choice == pin.KeepDriver {
			return set.Packages[0].Version
		}
	}
	return ""
}

// groupOf returns the group of a GPU as people name it.
func groupOf(t *matrix.Tables, s pin.Space, name string) *pin.HostGroup {
	chip := t.ChipNamed(name)
	if chip == nil {
		return nil
	}
	for _, candidate := range append([]string{name}, chip.Names...) {
		if g := s.Group(candidate); g != nil && t.ChipNamed(candidate) == chip && strings.Contains(slug(candidate), slug(shortGPU(name))) {
			return g
		}
	}
	return nil
}

// ---- instance types

func (b *builder) instances() error {
	for _, name := range b.Tables.InstanceNames() {
		i := b.Tables.Instance(name)
		t := thing{Kind: "instance", Name: name, Ask: asks("instance", name), Source: i.Source}
		t.Answer, t.Command, t.Bands = b.answerFor(i.GPU, name, name)
		short := shortGPU(i.GPU)
		t.Facts = known(fact{Name: "GPU", Value: i.GPU, Path: "gpu/" + slug(short) + "/"}, fact{Name: "GPUs", Value: strconv.Itoa(i.Count)},
			fact{Name: "compute capability", Value: i.Capability.String()}, fact{Name: "platform", Value: i.Platform},
			b.branchFact("first driver", i.FirstBranch.String()), b.branchFact("last driver branch", i.LastBranch.String()), fact{Name: "fabric manager", Value: i.FabricManager}, fact{Name: "EFA", Value: i.EFA},
			fact{Name: "open kernel module", Value: i.OpenModule})
		for _, other := range b.Tables.InstanceNames() {
			if o := b.Tables.Instance(other); o.GPU == i.GPU && other != name && len(t.Neighbours) < 5 {
				t.Neighbours = append(t.Neighbours, neighbour{other, "instance/" + strings.ToLower(other) + "/"})
			}
		}
		address := "instance/" + strings.ToLower(name) + "/"
		if err := b.thing(address, t.Answer, t, i.GPU); err != nil {
			return err
		}
		b.redirect("instance/"+name+"/", address)
	}
	return nil
}

// ---- rules

func (b *builder) rules() error {
	index, err := fs.ReadFile(b.Docs, "docs/rules/README.md")
	if err != nil {
		return err
	}
	html, err := b.markdown("docs/rules/README.md", "rule/", index)
	if err != nil {
		return err
	}
	b.listed("Rules", "rule/", "findings")
	if err := b.page("doc", page{Title: "Rules", Path: "rule/", Body: docBody{HTML: html}}); err != nil {
		return err
	}
	for _, rule := range matrix.Rules() {
		text, err := fs.ReadFile(docs.Rules, "rules/"+rule.ID+".md")
		if err != nil {
			return err
		}
		address := "rule/" + rule.ID + "/"
		html, err := b.markdown("docs/rules/"+rule.ID+".md", address, text)
		if err != nil {
			return err
		}
		b.listed(rule.ID, address, rule.Title)
		if err := b.writeJSON("rule/"+rule.ID+".json", map[string]any{"schema": thingSchema, "kind": "rule", "name": rule.ID, "title": rule.Title,
			"answer": rule.Title, "markdown": string(text), "date": b.Tables.Checked()}); err != nil {
			return err
		}
		if err := b.page("doc", page{Title: titleOf(text, rule.ID), Description: rule.Title, Path: address, Question: rule.ID, JSON: "../" + rule.ID + ".json", Body: docBody{HTML: html}}); err != nil {
			return err
		}
	}
	return nil
}

// ---- errors

func (b *builder) xids() error {
	rows := tables.Rows[tables.Xid](b.Tables)
	for i, x := range rows {
		n := strconv.Itoa(x.Xid)
		t := thing{Kind: "xid", Name: "Xid " + n, Source: x.Source, Command: "", Answer: fmt.Sprintf("Xid %s: %s. %s", n, strings.TrimSuffix(x.Meaning, "."), xidBlame[x.Blame])}
		t.Facts = known(fact{Name: "name", Value: x.Name}, fact{Name: "what to do", Value: strings.ReplaceAll(x.Action, "-", " ")},
			fact{Name: "proves a fault by itself", Value: x.Alone})
		for _, at := range []int{i - 1, i + 1} {
			if at >= 0 && at < len(rows) {
				o := strconv.Itoa(rows[at].Xid)
				t.Neighbours = append(t.Neighbours, neighbour{"Xid " + o, "xid/" + o + "/"})
			}
		}
		if err := b.thing("xid/"+n+"/", t.Answer, t, x.Name, x.Meaning); err != nil {
			return err
		}
	}
	return nil
}

// xidBlame is whose fault an Xid is, in a sentence.
var xidBlame = map[string]string{"program": "Most often the program's own fault", "hardware": "A fault of the hardware", "environment": "A fault of the environment",
	"none": "No fault by itself", "unknown": "Whose fault it is, other lines tell", "": "Whose fault it is, other lines tell"}

// cudaAPIs share their numbers: a code has one page.
var cudaAPIs = []string{"cuda-runtime", "cuda-driver"}

func (b *builder) errors() error {
	codes := map[int][]tables.Status{}
	others := map[string][]tables.Status{}
	for _, s := range tables.Rows[tables.Status](b.Tables) {
		if slices.Contains(cudaAPIs, s.API) {
			codes[s.Code] = append(codes[s.Code], s)
		} else {
			others[s.API] = append(others[s.API], s)
		}
	}
	numbers := slices.Sorted(maps.Keys(codes))
	for i, n := range numbers {
		var near []int
		for _, at := range []int{i - 1, i + 1} {
			if at >= 0 && at < len(numbers) {
				near = append(near, numbers[at])
			}
		}
		if err := b.cudaError(n, codes[n], near); err != nil {
			return err
		}
	}
	for _, api := range slices.Sorted(maps.Keys(others)) {
		if err := b.statusTable(api, others[api]); err != nil {
			return err
		}
	}
	return nil
}

// cudaError writes the page of a code of CUDA's two APIs.
func (b *builder) cudaError(number int, statuses []tables.Status, near []int) error {
	code := strconv.Itoa(number)
	t := thing{Kind: "error", Name: "CUDA error " + code}
	meaning, blame := "", ""
	var names []string
	for _, s := range statuses {
		meaning, blame = cmp.Or(meaning, s.Meaning, s.Text), cmp.Or(blame, s.Blame)
		names = append(names, s.Name)
		t.Facts = append(t.Facts, known(fact{Name: s.API, Value: s.Name}, fact{Name: "in its own words", Value: s.Text})...)
		t.addSources(s.Source)
		b.redirect("error/"+slug(s.Name)+"/", "error/"+code+"/")
		b.redirect("error/"+s.Name+"/", "error/"+code+"/")
	}
	t.Answer = fmt.Sprintf("CUDA error %s, %s: %s", code, names[0], cmp.Or(meaning, "the name says what it means"))
	t.Facts = append(t.Facts, known(fact{Name: "whose fault", Value: blame})...)
	for _, n := range near {
		o := strconv.Itoa(n)
		t.Neighbours = append(t.Neighbours, neighbour{"CUDA error " + o, "error/" + o + "/"})
	}
	t.Notes = append(t.Notes, "With the whole log, `cudacompat explain LOG` says whose fault it is.")
	return b.thing("error/"+code+"/", t.Answer, t, names...)
}

// statusTable writes the page of another library's codes.
func (b *builder) statusTable(api string, statuses []tables.Status) error {
	t := thing{Kind: "error", Name: api + " errors", Answer: fmt.Sprintf("The %d codes of %s", len(statuses), api),
		Table: &dataTable{Caption: api, Columns: []string{"name", "code", "meaning"}}}
	for _, s := range statuses {
		t.Table.Rows = append(t.Table.Rows, []string{s.Name, strconv.Itoa(s.Code), cmp.Or(s.Meaning, s.Text)})
		t.addSources(s.Source)
		b.redirect("error/"+slug(s.Name)+"/", "error/"+api+"/")
	}
	return b.thing("error/"+api+"/", t.Answer, t)
}

// addSources adds the sources that a page does not have yet.
func (t *thing) addSources(sources []string) {
	for _, s := range sources {
		if !slices.Contains(t.Source, s) {
			t.Source = append(t.Source, s)
		}
	}
}
