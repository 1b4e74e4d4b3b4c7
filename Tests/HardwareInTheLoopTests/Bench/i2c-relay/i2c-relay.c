// SPDX-License-Identifier: GPL-2.0
// An I2C adapter whose devices are played by a program.
//
// Each open of /dev/i2c-relay registers an adapter, /dev/i2c-N; its transfers are read from the file, and the answers are
// written to it. Closing the file removes the adapter, as pulling a USB adapter would.
//
// The program first reads an `i2c_relay_hello`. Then every read waits for a transfer: an `i2c_relay_request`, followed for
// each message by an `i2c_relay_message` and, where it writes, its bytes. Every write is one answer: an `i2c_relay_reply`,
// followed by the bytes of all messages that read. All numbers are the machine's own.
//
// "N NAME ADDRESS", written to the module's parameter `client`, has the kernel's own driver of that name take a device of
// adapter N, with an interrupt line that never fires: without one some drivers refuse to begin, and the core's `new_device` has
// none to give.

#include <linux/completion.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/i2c.h>
#include <linux/irq_sim.h>
#include <linux/irqdomain.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct i2c_relay_hello {
	__u32 adapter;
};

struct i2c_relay_request {
	__u32 sequence;
	__u32 message_count;
};

struct i2c_relay_message {
	__u16 address;
	__u16 flags;
	__u32 length;
};

struct i2c_relay_reply {
	__u32 sequence;
	// 0, or a negative errno, which the transfer fails with
	__s32 result;
};

// An SMBus adapter without plain I2C: such adapters exist, and programs must ask which kind they have.
static bool smbus_only;
module_param(smbus_only, bool, 0644);
MODULE_PARM_DESC(smbus_only, "adapters from now on say that they know SMBus transfers only");

struct relay {
	struct i2c_adapter adapter;
	struct work_struct removal;
	bool smbus_only;
	bool said_hello;
	struct mutex lock;
	wait_queue_head_t pending;
	wait_queue_head_t answered;
	// Of the one transfer that the core lets through at a time; guarded by `lock`.
	struct i2c_msg *messages;
	int message_count;
	u32 sequence;
	bool is_taken;
	bool is_answered;
	int result;
	bool is_gone;
};

static int relay_transfer(struct i2c_adapter *adapter, struct i2c_msg *messages, int count)
{
	struct relay *relay = i2c_get_adapdata(adapter);
	int result;

	mutex_lock(&relay->lock);
	if (relay->is_gone) {
		mutex_unlock(&relay->lock);
		return -ENODEV;
	}
	relay->messages = messages;
	relay->message_count = count;
	relay->sequence++;
	relay->is_taken = false;
	relay->is_answered = false;
	mutex_unlock(&relay->lock);
	wake_up_interruptible(&relay->pending);

	result = wait_event_timeout(relay->answered, READ_ONCE(relay->is_answered) || READ_ONCE(relay->is_gone),
				    adapter->timeout);

	mutex_lock(&relay->lock);
	if (relay->is_answered)
		result = relay->result < 0 ? relay->result : count;
	else
		result = relay->is_gone ? -ENODEV : -ETIMEDOUT;
	relay->messages = NULL;
	mutex_unlock(&relay->lock);
	return result;
}

static u32 relay_functionality(struct i2c_adapter *adapter)
{
	struct relay *relay = i2c_get_adapdata(adapter);

	return relay->smbus_only ? I2C_FUNC_SMBUS_EMUL : I2C_FUNC_I2C | I2C_FUNC_SMBUS_EMUL;
}

static const struct i2c_algorithm relay_algorithm = {
	.xfer = relay_transfer,
	.functionality = relay_functionality,
};

static void relay_remove(struct work_struct *work)
{
	struct relay *relay = container_of(work, struct relay, removal);

	// Waits until the last program has closed /dev/i2c-N; its name is gone at once.
	i2c_del_adapter(&relay->adapter);
	kfree(relay);
	module_put(THIS_MODULE);
}

static int relay_open(struct inode *inode, struct file *file)
{
	struct relay *relay = kzalloc(sizeof(*relay), GFP_KERNEL);
	int error;

	if (!relay)
		return -ENOMEM;
	mutex_init(&relay->lock);
	init_waitqueue_head(&relay->pending);
	init_waitqueue_head(&relay->answered);
	INIT_WORK(&relay->removal, relay_remove);
	relay->smbus_only = smbus_only;
	relay->adapter.owner = THIS_MODULE;
	relay->adapter.algo = &relay_algorithm;
	relay->adapter.timeout = HZ;
	strscpy(relay->adapter.name, "i2c-relay", sizeof(relay->adapter.name));
	i2c_set_adapdata(&relay->adapter, relay);
	error = i2c_add_adapter(&relay->adapter);
	if (error) {
		kfree(relay);
		return error;
	}
	file->private_data = relay;
	return nonseekable_open(inode, file);
}

static int relay_release(struct inode *inode, struct file *file)
{
	struct relay *relay = file->private_data;

	mutex_lock(&relay->lock);
	relay->is_gone = true;
	mutex_unlock(&relay->lock);
	wake_up(&relay->answered);
	// The work outlives the file, and must not outlive the module.
	__module_get(THIS_MODULE);
	schedule_work(&relay->removal);
	return 0;
}

static bool relay_has_request(struct relay *relay)
{
	return READ_ONCE(relay->messages) && !READ_ONCE(relay->is_taken);
}

// Copies the pending transfer out; 0 where there is none any more.
static ssize_t relay_copy_request(struct relay *relay, char __user *buffer, size_t size)
{
	struct i2c_relay_request request = { relay->sequence, relay->message_count };
	size_t offset = sizeof(request);
	int index;

	if (!relay_has_request(relay))
		return 0;
	if (size < sizeof(request))
		return -EINVAL;
	if (copy_to_user(buffer, &request, sizeof(request)))
		return -EFAULT;
	for (index = 0; index < relay->message_count; index++) {
		struct i2c_msg *message = &relay->messages[index];
		struct i2c_relay_message head = { message->addr, message->flags, message->len };
		size_t bytes = message->flags & I2C_M_RD ? 0 : message->len;

		if (size < offset + sizeof(head) + bytes)
			return -EINVAL;
		if (copy_to_user(buffer + offset, &head, sizeof(head)))
			return -EFAULT;
		offset += sizeof(head);
		if (copy_to_user(buffer + offset, message->buf, bytes))
			return -EFAULT;
		offset += bytes;
	}
	relay->is_taken = true;
	return offset;
}

static ssize_t relay_read(struct file *file, char __user *buffer, size_t size, loff_t *position)
{
	struct relay *relay = file->private_data;
	struct i2c_relay_hello hello = { relay->adapter.nr };
	ssize_t result;

	if (!relay->said_hello) {
		if (size < sizeof(hello))
			return -EINVAL;
		if (copy_to_user(buffer, &hello, sizeof(hello)))
			return -EFAULT;
		relay->said_hello = true;
		return sizeof(hello);
	}
	do {
		if (!relay_has_request(relay)) {
			if (file->f_flags & O_NONBLOCK)
				return -EAGAIN;
			if (wait_event_interruptible(relay->pending, relay_has_request(relay)))
				return -ERESTARTSYS;
		}
		mutex_lock(&relay->lock);
		result = relay_copy_request(relay, buffer, size);
		mutex_unlock(&relay->lock);
	} while (result == 0);
	return result;
}

// Takes the bytes of the messages that read.
static int relay_copy_answer(struct relay *relay, const char __user *buffer, size_t size)
{
	size_t offset = 0;
	int index;

	for (index = 0; index < relay->message_count; index++) {
		struct i2c_msg *message = &relay->messages[index];
		u16 room = message->len;

		if (!(message->flags & I2C_M_RD))
			continue;
		// SMBus blocks say their length in their first byte.
		if (message->flags & I2C_M_RECV_LEN)
			return -EOPNOTSUPP;
		if (size - offset < room)
			return -EINVAL;
		if (copy_from_user(message->buf, buffer + offset, room))
			return -EFAULT;
		offset += room;
	}
	return 0;
}

static ssize_t relay_write(struct file *file, const char __user *buffer, size_t size, loff_t *position)
{
	struct relay *relay = file->private_data;
	struct i2c_relay_reply reply;
	ssize_t result = size;
	int error;

	if (size < sizeof(reply))
		return -EINVAL;
	if (copy_from_user(&reply, buffer, sizeof(reply)))
		return -EFAULT;
	mutex_lock(&relay->lock);
	// An answer that comes too late must not reach a later transfer.
	if (relay->messages && relay->is_taken && reply.sequence == relay->sequence) {
		relay->result = reply.result;
		if (reply.result >= 0) {
			error = relay_copy_answer(relay, buffer + sizeof(reply), size - sizeof(reply));
			if (error) {
				relay->result = error;
				result = error;
			}
		}
		relay->is_answered = true;
	}
	mutex_unlock(&relay->lock);
	wake_up(&relay->answered);
	return result;
}

static __poll_t relay_poll(struct file *file, poll_table *table)
{
	struct relay *relay = file->private_data;

	poll_wait(file, &relay->pending, table);
	return EPOLLOUT | EPOLLWRNORM |
	       (!relay->said_hello || relay_has_request(relay) ? EPOLLIN | EPOLLRDNORM : 0);
}

static const struct file_operations relay_operations = {
	.owner = THIS_MODULE,
	.open = relay_open,
	.release = relay_release,
	.read = relay_read,
	.write = relay_write,
	.poll = relay_poll,
};

static struct miscdevice relay_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "i2c-relay",
	.fops = &relay_operations,
	.mode = 0600,
};

#define INTERRUPT_COUNT 16

static struct irq_domain *interrupts;

static int relay_set_client(const char *text, const struct kernel_param *parameter)
{
	static unsigned int clients;
	struct i2c_board_info info = {};
	struct i2c_adapter *adapter;
	struct i2c_client *client;
	unsigned short address;
	int number;

	if (sscanf(text, "%d %19s %hx", &number, info.type, &address) != 3 || !interrupts)
		return -EINVAL;
	adapter = i2c_get_adapter(number);
	if (!adapter)
		return -ENODEV;
	info.addr = address;
	info.irq = irq_create_mapping(interrupts, clients++ % INTERRUPT_COUNT);
	client = i2c_new_client_device(adapter, &info);
	i2c_put_adapter(adapter);
	return PTR_ERR_OR_ZERO(client);
}

static const struct kernel_param_ops relay_client_operations = { .set = relay_set_client };

module_param_cb(client, &relay_client_operations, NULL, 0200);
MODULE_PARM_DESC(client, "a device that a driver of the kernel's is to take: adapter, name, address");

static int __init relay_init(void)
{
	int error;

	interrupts = irq_domain_create_sim(NULL, INTERRUPT_COUNT);
	if (IS_ERR(interrupts))
		return PTR_ERR(interrupts);
	error = misc_register(&relay_device);
	if (error)
		irq_domain_remove_sim(interrupts);
	return error;
}

static void __exit relay_exit(void)
{
	misc_deregister(&relay_device);
	irq_domain_remove_sim(interrupts);
}

module_init(relay_init);
module_exit(relay_exit);

MODULE_DESCRIPTION("I2C adapters whose devices are played by a program");
MODULE_LICENSE("GPL");
