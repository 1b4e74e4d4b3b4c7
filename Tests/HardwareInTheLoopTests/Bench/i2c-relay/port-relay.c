// SPDX-License-Identifier: GPL-2.0
// A serial port, /dev/ttyRELAY0, whose other end is a program: it opens /dev/port-relay, reads there what was sent, and
// writes what the port receives.
//
// Unlike a pseudo-terminal it has the output buffer of a UART. Bytes that the program has not read are unsent: they are
// counted (TIOCOUTQ), can be dropped (tcflush), and closing the port waits for them, by default for half a minute. A
// program that does not read is therefore a device that holds the line with its flow control.

#include <linux/kfifo.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/tty.h>
#include <linux/tty_driver.h>
#include <linux/tty_flip.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#define BUFFER_SIZE 4096

static struct tty_driver *driver;
static struct tty_port port;
static DEFINE_KFIFO(unsent, u8, BUFFER_SIZE);
static DEFINE_SPINLOCK(lock);
static DECLARE_WAIT_QUEUE_HEAD(sent);

static int relay_tty_open(struct tty_struct *tty, struct file *file)
{
	return tty_port_open(&port, tty, file);
}

static void relay_tty_close(struct tty_struct *tty, struct file *file)
{
	tty_port_close(&port, tty, file);
}

static void relay_tty_hangup(struct tty_struct *tty)
{
	tty_port_hangup(&port);
}

static ssize_t relay_tty_write(struct tty_struct *tty, const u8 *bytes, size_t count)
{
	unsigned int taken = kfifo_in_spinlocked(&unsent, bytes, count, &lock);

	wake_up_interruptible(&sent);
	return taken;
}

static unsigned int relay_tty_write_room(struct tty_struct *tty)
{
	return kfifo_avail(&unsent);
}

static unsigned int relay_tty_chars_in_buffer(struct tty_struct *tty)
{
	return kfifo_len(&unsent);
}

static void relay_tty_flush_buffer(struct tty_struct *tty)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	kfifo_reset(&unsent);
	spin_unlock_irqrestore(&lock, flags);
	tty_wakeup(tty);
}

static const struct tty_operations tty_operations = {
	.open = relay_tty_open,
	.close = relay_tty_close,
	.hangup = relay_tty_hangup,
	.write = relay_tty_write,
	.write_room = relay_tty_write_room,
	.chars_in_buffer = relay_tty_chars_in_buffer,
	.flush_buffer = relay_tty_flush_buffer,
};

// What a close could not send in its time is lost.
static void relay_port_shutdown(struct tty_port *port)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	kfifo_reset(&unsent);
	spin_unlock_irqrestore(&lock, flags);
}

static const struct tty_port_operations port_operations = {
	.shutdown = relay_port_shutdown,
};

static ssize_t relay_read(struct file *file, char __user *buffer, size_t size, loff_t *position)
{
	u8 bytes[256];
	unsigned int count;

	do {
		if (kfifo_is_empty(&unsent)) {
			if (file->f_flags & O_NONBLOCK)
				return -EAGAIN;
			if (wait_event_interruptible(sent, !kfifo_is_empty(&unsent)))
				return -ERESTARTSYS;
		}
		count = kfifo_out_spinlocked(&unsent, bytes, min(size, sizeof(bytes)), &lock);
	} while (count == 0 && size > 0);
	if (copy_to_user(buffer, bytes, count))
		return -EFAULT;
	tty_port_tty_wakeup(&port);
	return count;
}

// A closed port receives nothing, and a program that does not read loses bytes.
static ssize_t relay_write(struct file *file, const char __user *buffer, size_t size, loff_t *position)
{
	u8 bytes[256];
	size_t offset = 0;

	while (offset < size) {
		size_t count = min(size - offset, sizeof(bytes));

		if (copy_from_user(bytes, buffer + offset, count))
			return -EFAULT;
		if (tty_port_initialized(&port)) {
			tty_insert_flip_string(&port, bytes, count);
			tty_flip_buffer_push(&port);
		}
		offset += count;
	}
	return size;
}

static __poll_t relay_poll(struct file *file, poll_table *table)
{
	poll_wait(file, &sent, table);
	return EPOLLOUT | EPOLLWRNORM | (kfifo_is_empty(&unsent) ? 0 : EPOLLIN | EPOLLRDNORM);
}

static const struct file_operations relay_operations = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.read = relay_read,
	.write = relay_write,
	.poll = relay_poll,
};

static struct miscdevice relay_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "port-relay",
	.fops = &relay_operations,
	.mode = 0600,
};

static int __init relay_init(void)
{
	int error;

	driver = tty_alloc_driver(1, TTY_DRIVER_REAL_RAW);
	if (IS_ERR(driver))
		return PTR_ERR(driver);
	driver->driver_name = "port-relay";
	driver->name = "ttyRELAY";
	driver->type = TTY_DRIVER_TYPE_SERIAL;
	driver->subtype = SERIAL_TYPE_NORMAL;
	driver->init_termios = tty_std_termios;
	driver->init_termios.c_cflag = B9600 | CS8 | CREAD | CLOCAL;
	// Nothing is echoed before a program has set up the port.
	driver->init_termios.c_lflag = 0;
	tty_set_operations(driver, &tty_operations);
	tty_port_init(&port);
	port.ops = &port_operations;
	tty_port_link_device(&port, driver, 0);
	error = tty_register_driver(driver);
	if (error)
		goto no_driver;
	error = misc_register(&relay_device);
	if (error)
		goto no_device;
	return 0;

no_device:
	tty_unregister_driver(driver);
no_driver:
	tty_port_destroy(&port);
	tty_driver_kref_put(driver);
	return error;
}

static void __exit relay_exit(void)
{
	misc_deregister(&relay_device);
	tty_unregister_driver(driver);
	tty_port_destroy(&port);
	tty_driver_kref_put(driver);
}

module_init(relay_init);
module_exit(relay_exit);

MODULE_DESCRIPTION("A serial port whose other end is a program");
MODULE_LICENSE("GPL");
