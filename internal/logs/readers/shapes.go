package readers

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/record"
)

// meaning is a message whose numbers say more than its row. The pattern's groups fill the words. If there are groups
// "more" and "than", it holds only if the first is larger.
type meaning struct {
	said    *lazyregexp.Regexp
	because string
	do      []string
}

func means(said, because string, do ...string) meaning {
	return meaning{lazyregexp.New(said), because, do}
}

// shapes lists the messages of PyTorch, TensorFlow and NumPy about shapes that do not fit, with the usual remedy.
var shapes = []meaning{
	means(`(?:mat1 and \w+ shapes cannot be multiplied \(\d+x(?P<have>\d+) and (?P<want>\d+)x\d+\)|`+
		`size mismatch, m1: \[\d+ x (?P<had>\d+)\], m2: \[(?P<wanted>\d+) x \d+\])`,
		"The layer takes {want}{wanted} features, and its input has {have}{had}.",
		"print the shape of what goes into the layer that the traceback names: is it flattened from the right dimension?",
		"if it is right, give the layer in_features={have}{had}; after a change of the input's size, recompute the first layer "+
			"behind the flatten"),
	means(`expected input.{0,60} to have (?P<want>\d+) channels, but got (?P<have>\d+) channels`,
		"The layer takes {want} channels, and its input has {have}.",
		"for images, convert them when they are read: Image.open(f).convert('RGB') has 3 channels, 'L' has 1",
		"or give the first layer in_channels={have}; check that the order is (N, C, H, W)"),
	means(`(?:size of tensor a|expanded size of the tensor) \((?P<more>\d+)\) must match the (?:size of tensor b|`+
		`existing size) \((?P<than>512|514|1024|2048|4096|77)\) at non-singleton dimension 1\b`,
		"The input is longer than the {than} positions that the model has.",
		"cut it: tokenizer(…, truncation=True, max_length={than})",
		"or split it into pieces, or take a model with more positions"),
	means(`(?:size of tensor a|expanded size of the tensor) \((?P<a>\d+)\) must match the (?:size of tensor b|`+
		`existing size) \((?P<b>\d+)\)(?: at non-singleton dimension (?P<dimension>\d+))?`,
		"Two tensors that are combined have {a} and {b} entries in one dimension.",
		"print both shapes before the line that the traceback names: which of the two is the unexpected one?",
		"where one is a fixed length (a table of positions, max_len), raise it or cut the input; where one is the number of classes, "+
			"give the model the dataset's; where they differ by one or two, look at padding, strides and odd sizes"),
	means(`output with shape \[1, (?P<a>\d+), (?P<b>\d+)\] doesn't match the broadcast shape \[3, `,
		"A grey picture is normalised, or combined, with three channels.",
		"for grey pictures give Normalize one value each: Normalize((0.5,), (0.5,))",
		"or read them in colour: Image.open(f).convert('RGB'), transforms.Grayscale(3)"),
	means(`shape '(?P<shape>\[[\d, -]*\])' is invalid for input of size (?P<have>\d+)`,
		"{have} values do not fill the shape {shape}.",
		"print the shape before the view: the batch, picture or sequence has another size than the numbers in the view",
		"for a last batch that is smaller, set drop_last=True, or use x.size(0) and -1 in the view"),
	means(`Expected more than 1 (?:value per channel|spatial element)`,
		"Batch normalisation was trained on a batch of one.",
		"set drop_last=True in the DataLoader, or a batch size of 2 or more on each GPU",
		"for inference, call model.eval() first"),
	means(`Expected (?P<want>\d)-dimensional input for \d-dimensional weight.{0,60}got (?P<have>\d)-dimensional input|`+
		`[Ee]xpected (?P<wanted>\d)D(?: \(unbatched\))? or \dD.{0,40}input.{0,20}got (?P<had>\d)D`,
		"The layer takes {want}{wanted} dimensions, and its input has {have}{had}.",
		"for a single sample, add the batch dimension: x.unsqueeze(0); for grey pictures, the channel: x.unsqueeze(1)",
		"print x.shape before the layer: the order is (N, C, H, W)"),
	means(`Target size \(torch\.Size\(\[\d+, 3, \d+, \d+\]\)\) must be the same as input size \(torch\.Size\(\[\d+, 1, `,
		"The masks have three channels, as pictures in colour have, and the model gives one.",
		"read the masks as grey pictures: Image.open(f).convert('L'), cv2.imread(f, cv2.IMREAD_GRAYSCALE); then they have shape (N, 1, H, W)",
		"print masks.shape and masks.unique(): they must be one channel of 0 and 1 for a binary loss"),
	means(`Target size \(torch\.Size\(\[\d+, (?P<have>\d+), \d+, \d+\]\)\) must be the same as input size \(torch\.Size\(\[\d+, (?P<want>\d+), `,
		"The labels have {have} classes, and the model gives {want}.",
		"give the model the number of classes of the data, {have} (num_classes, num_class, classes), or bring the labels to {want}",
		"print masks.shape: its second dimension is the number of classes"),
	means(`Target size \(torch\.Size\(\[(?P<a>\d+)\]\)\) must be the same as input size \(torch\.Size\(\[\d+, 1\]\)\)`,
		"The model gives shape (N, 1), and the labels have (N).",
		"bring both to one shape: labels.unsqueeze(1).float(), or outputs.squeeze(1)",
		"print both shapes before the loss"),
	means(`only batches of spatial targets supported`,
		"The loss takes one class number for each pixel, and the masks have a channel dimension.",
		"drop it: masks.squeeze(1).long(), or masks.argmax(1) where they are one-hot or RGB",
		"print masks.shape: it must be (N, H, W)"),
	means(`Kernel size can't be greater than actual input size|Output size is too small`,
		"The picture or sequence becomes smaller than a kernel on its way through the layers.",
		"give the model larger inputs, or fewer pooling and strided layers",
		"print x.shape before each layer: are height, width and channels in the expected order?"),
	means(`stack expects each tensor to be equal size|Cannot add tensor to the batch`,
		"The samples of a batch have different sizes.",
		"resize or crop the pictures to one size in the dataset, or pad the sequences",
		"or give the DataLoader a collate_fn that pads"),
	means(`view size is not compatible`,
		"A tensor that is not contiguous cannot be viewed in another shape.",
		"write .reshape(…) instead of .view(…), or .contiguous() before it"),
	means(`[Ss]hapes \((?P<a>[^()]*)\) and \((?P<b>[^()]*)\) are incompatible|[Ii]ncompatible shapes: (?P<c>\[[\d,]*\]) `+
		`vs\. (?P<d>\[[\d,]*\])`,
		"The shapes {a}{c} and {b}{d} do not fit.",
		"if one is the labels: sparse_categorical_crossentropy takes class numbers, categorical_crossentropy takes one-hot rows",
		"give the last layer as many units as there are classes, and print model.summary()"),
	means(`is incompatible with the layer: expected (?P<want>[\w ]+=[^,.]+).{0,80}?(?:found|shape[= ]*)(?P<have>.{1,40})`,
		"A Keras layer got an input of another shape than the one it was built for.",
		"print x.shape, and compare it with input_shape of the first layer: expand_dims adds the batch or channel dimension",
		"print model.summary(): the layer is named in the message"),
	means(`logits and labels must (?:be|have)`,
		"Logits and labels have different shapes.",
		"give the last layer as many units as there are classes, and check whether the loss takes numbers or one-hot rows",
		"print both shapes for one batch"),
	means(`cannot reshape tensor of (?P<have>\d+) elements? into shape (?P<shape>\[.*?\])`,
		"{have} values do not fill the shape {shape}.",
		"if it has 0 elements, a batch or a detection is empty: handle that case first",
		"print the shape before the call, and compare it with the numbers in it"),
}

// readShapes says what does not fit, with the message's numbers.
func readShapes(f *finding.Finding) bool {
	chooseMeaning(f, shapes)
	return true
}

// dropEmpty removes words with the name of a group that matched nothing. Another form of the message has that group.
func dropEmpty(r *record.Record, list []string) []string {
	all := slices.Clone(list)
	for name, value := range r.Slots {
		for i := range all {
			if value == "" {
				all[i] = strings.ReplaceAll(all[i], "{"+name+"}", "")
			}
		}
	}
	return all
}

// chooseMeaning gives a finding the words of the first meaning whose pattern matches its line.
func chooseMeaning(f *finding.Finding, all []meaning) {
	text := f.Text[f.Match[0]:]
	for i := range all {
		m := all[i].said.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		r := record.Record{Slots: map[string]string{}}
		for g, name := range all[i].said.SubexpNames() {
			if name != "" {
				r.Slots[name] = m[g]
			}
		}
		if than := r.Slot("than"); than != "" && number(r.Slot("more")) <= number(than) {
			continue
		}
		f.Because, f.Do = r.FillWords(all[i].because), r.FillSteps(dropEmpty(&r, all[i].do))
		return
	}
}

// devices lists the messages about tensors on different devices.
var devices = []meaning{
	means(`Input type \((?:torch\.cuda\.|CUDA|MPS)\w+\) and (?:weight|bias) type \((?:torch\.[A-Z]|CPU)`,
		"The input is on the GPU, and the layer's weights are on the CPU.",
		"move the model: model.to(device), before the optimizer is made",
		"keep layers in nn.ModuleList, not in a plain list: .to() does not see them there, nor those made inside forward()"),
	means(`Input type \((?:torch\.[A-Z]|CPU)\w+\) and (?:weight|bias) type \((?:torch\.cuda\.|CUDA|MPS)`,
		"The layer's weights are on the GPU, and the input is on the CPU.",
		"move the input: x = x.to(device); it returns a new tensor",
		"look for tensors that the code makes on the way: give them device=x.device"),
	means(`Expected object of (?:device type|backend) (?P<want>\w+) but got (?:device type|backend) (?P<have>\w+)`+
		`(?: for argument #\d '(?P<argument>\w+)')?`,
		"An operation on {want} got a tensor that is on {have}.",
		"move the tensor: x = x.to(device); it returns a new tensor; an argument 'self', 'weight' or 'mat2' is the model's",
		"keep layers in nn.ModuleList, not in a plain list, and constants in register_buffer: .to() moves those"),
	means(`Expected a '(?P<want>\w+)' device type for generator but found '(?P<have>\w+)'`,
		"A random generator is on {have}, where {want} is the default device of tensors.",
		"give it the device: torch.Generator(device='{want}'), in a DataLoader generator=torch.Generator(device='{want}')",
		"or leave the default device at the CPU: no torch.set_default_tensor_type, no torch.set_default_device"),
	means(`indices should be either on cpu`,
		"A tensor on the CPU is indexed with indices on the GPU.",
		"move the indices: x[indices.cpu()], or the tensor: x.to(indices.device)[indices]"),
	means(`parameters and buffers on device (?P<want>cuda:\d+) \(device_ids\[0\]\) but found one of them on device: `+
		`(?P<have>\w+(?::\d+)?)`,
		"DataParallel wants the model on {want}, and a part of it is on {have}.",
		"move the whole model first: model.to('{want}'), then DataParallel(model, device_ids=[…]) with that card first",
		"to use other cards, hide the rest: CUDA_VISIBLE_DEVICES=2,3, and count from 0"),
	means(`'?(?P<argument>lengths)'? (?:argument )?should be a (?:1D )?CPU (?:int64 )?tensor`,
		"pack_padded_sequence takes the lengths as a tensor on the CPU, and they are on the GPU.",
		"move the lengths back there: pack_padded_sequence(x, lengths.cpu(), …); x stays on the GPU"),
	means(`(?:should|must) be (?:an? )?(?:\w+ )?CPU (?:\w+ )?tensor|(?:should|must) be on (?:the )?CPU\b`,
		"An argument must be a tensor on the CPU, and it is on the GPU.",
		"move it back for this call: x.cpu()"),
	means(`can't convert CUDA tensor to numpy`,
		"NumPy cannot read a tensor that is on the GPU.",
		"write tensor.detach().cpu().numpy(), also where a metric or a plot takes it",
		"for a list of tensors: [t.cpu() for t in list]"),
	means(`can't convert (?P<device>\w+(?::\d+)?) device type tensor to numpy`,
		"NumPy cannot read a tensor that is on the GPU ({device}).",
		"write tensor.detach().cpu().numpy(), also where a metric or a plot takes it",
		"for a list of tensors: [t.cpu() for t in list]"),
	means(`at least two devices, (?P<a>cuda:\d+) and (?P<b>cuda:\d+)`,
		"Tensors that one operation needs are on {a} and {b}.",
		"with device_map or several GPUs, keep the inputs on the first layer's device, and move hidden states with .to(x.device)",
		"or use one GPU: CUDA_VISIBLE_DEVICES=0"),
	means(`at least two devices, (?P<a>\w+(?::\d+)?)(?: and |, )(?P<b>\w+(?::\d+)?)`,
		"Tensors that one operation needs are on {a} and {b}.",
		"move the input, or the tensor that the code makes on the way, to the model's device: .to(x.device)",
		"register constants of a module with register_buffer, and make no layer inside forward()"),
}

func readDevices(f *finding.Finding) bool {
	chooseMeaning(f, devices)
	return true
}
